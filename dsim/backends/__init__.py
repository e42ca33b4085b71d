"""Execution of kernels: `cpu`, which compiles the IR that `llvm` emits, and `reference`, readable Python.

They import the IR, analyses and passes, and nothing of the runtime. Begin with `cpu/machine.py`; `cuda` emits
kernels for devices by the same `llvm`.
"""
