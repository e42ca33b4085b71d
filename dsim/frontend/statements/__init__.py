"""Statements, by the kind of their syntax node.

It imports `inlining` and what is below. Begin with `statements.py`.
"""
