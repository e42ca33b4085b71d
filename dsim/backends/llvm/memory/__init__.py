"""Elements, buffers and undo logs: addresses, loads, stores, atomics, and what registers keep of memory.

It imports the writer and the arithmetic of `llvm`; statements and loops import it. Begin with `elements.py`,
then `access.py`.
"""
