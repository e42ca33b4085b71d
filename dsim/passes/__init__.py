"""Rewrites that keep a kernel's meaning: pure functions from kernel to kernel, each in a file of its name.

They import analyses and the IR, and no derivatives. Begin with `simplify.py`, the standard pipelines, or with
the pass by its name.
"""
