"""Calls: which builtin, type, method or func is meant.

It imports `statements` and what is below. Begin with `calls.py`.
"""
