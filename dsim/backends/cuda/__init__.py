"""Kernels on NVIDIA's devices: the grid form that `llvm` emits, for this target.

It imports `llvm`, and never `cpu`. Begin with `kernels.py`: `emit_kernel` gives a `GridModule`, which is text
and the list of kernels that a launch runs, one after the other.
"""
