"""The slots of the frame that only the form for devices has, behind those of `frame`.

Whoever launches writes the addresses and sizes; everything else is 0 before a launch.
"""

from __future__ import annotations

from dsim.backends.llvm import frame

# The pool, from which private buffers and undo logs come: its address, its bytes, how many of them the
# buffers of the outermost block have taken. What is left is split evenly among the threads of a kernel.
POOL, POOL_SIZE, POOL_USED = (frame.FIXED + i for i in range(3))
# The blocks' sums: where they are, and how many blocks wrote some.
SUMS, BLOCKS = frame.FIXED + 3, frame.FIXED + 4
# The print buffer: its address, its words, how many were asked for, and how many prints did not fit.
PRINTS, PRINT_WORDS, PRINT_USED, PRINT_LOST = (frame.FIXED + 5 + i for i in range(4))
COUNT = 9
