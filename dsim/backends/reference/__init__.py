"""Kernels as readable Python, which also runs: the reference for machine code.

It does not import LLVM. Begin with `source.py`.
"""
