"""Typed memory with its gradients and tangents beside it, and what people do with it from Python.

It imports `state`; it knows neither kernels nor launches. Begin with `storage.py`, then `fields.py`;
`access.py` has single elements, `layout.py` placement.
"""
