"""Primitives as LLVM instructions: integers of every width, powers, remainders, what may wrap.

It knows text and target alone. Begin with `primitives.py`.
"""
