"""Expressions and what they are assigned to: elements, indices, parts, branches, structs.

It imports `frames` and what is below. Begin with `expressions.py`.
"""
