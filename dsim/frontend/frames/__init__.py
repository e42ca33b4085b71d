"""One function being lowered: its locals, its names, its place in the compilation.

It imports `values` and `source`. Begin with `frame.py`.
"""
