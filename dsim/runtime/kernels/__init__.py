"""A user's kernel: its versions, its arguments, its arrays, and its launch from Python.

It imports `recording` and what is below, and no tapes. Begin with `kernel.py`, then `versions.py`
and `arguments.py`.
"""
