"""Funcs and plain Python functions in the place of their calls, and derivatives of funcs.

It imports `control` and what is below. Begin with `callables.py`, then `funcs.py`.
"""
