"""Inlining of funcs and plain Python functions, and derivatives of funcs.

It imports `control` and what is below. Begin with `callables.py`, then `funcs.py`.
"""
