"""Kernels on this processor: machine code from the text that `llvm` writes, frames, launches, threads, Stop.

It imports `llvm`. Begin with `machine.py`, then `compiled.py` and `launch.py`.
"""
