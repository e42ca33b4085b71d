"""From a kernel to the text of an LLVM module, for any target.

It imports the IR, and analyses for facts. Expressions and statements are written here, once; the two forms of
a kernel's tasks are `parallel`, for the threads of a processor, and `grid`, for those of a device. Begin with
`writer.py` and `statements.py`, then `kernel.py` and the `emit.py` of a form.
"""
