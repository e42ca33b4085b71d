"""Rerolls what ``ti.static`` wrote out: products with the rows of a matrix become loops over its columns.

`products` finds, in the body of a loop, what is linear in the elements of a row; `loops` writes the loops
that compute it. It imports the IR, its builder and interval analysis; begin with `loops.py`.
"""
