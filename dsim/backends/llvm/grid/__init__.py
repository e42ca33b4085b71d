"""A kernel in the form for devices: its tasks as kernels over a grid of threads, launched one by one.

It imports the rest of `llvm`, and knows of no device: addresses of global memory, the barrier of a block and
C's mathematical functions are calls of functions that the target defines. So the same text runs on the
threads of a processor, too. Begin with `module.py`, which says how a kernel is launched, then `emit.py` and
`tasks.py`.
"""
