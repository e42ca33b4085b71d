"""Typed memory with its gradients and tangents beside it, and its use from Python.

It imports `state`, and neither kernels nor launches. Begin with `storage.py`, then `fields.py`;
`access.py` has single elements, `layout.py` placement.
"""
