"""Execution of kernels: `cpu`, which compiles the IR that `llvm` emits, and `reference`, readable Python."""
