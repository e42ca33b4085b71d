"""Kernels as programs: readable Python, and machine code by LLVM."""
