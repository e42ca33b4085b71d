"""Sparse Jacobians and Hessians from products: pattern, colouring, compressed products, and their check.

It imports `selection`, and no runs. Begin with `compression.py`, which calls the others.
"""
