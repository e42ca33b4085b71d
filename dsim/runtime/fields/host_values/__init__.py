"""Vectors and matrices outside kernels: small NumPy arrays with the methods that they have in kernels.

It imports `state`, and no fields. Begin with `values.py`.
"""
