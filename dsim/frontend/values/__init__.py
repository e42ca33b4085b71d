"""Values of expressions while a kernel is lowered, and arithmetic on them as IR.

It imports `source`. Begin with `values.py`, then `operators.py`.
"""
