"""Kernels on this processor: machine code from the IR that `llvm` emits, frames, launches, threads, stops.

It imports `llvm`. Begin with `machine.py`, then `compiled.py` and `launch.py`.
"""
