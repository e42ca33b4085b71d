"""From a kernel to the text of an LLVM module, for any target.

It imports the IR, and analyses for facts. Begin with `emit.py`, then `writer.py` and `statements.py`.
"""
