"""Kernels as readable Python, which also runs: what machine code is compared with.

It knows no LLVM. Begin with `source.py`.
"""
