"""A program bound to fields, and what becomes of its launch in contexts that differentiate.

It imports `fields`, `driver` and `state`. Begin with `forms.py`, then `contexts.py`; `host_kernels.py`
has what Python does to fields, as launches.
"""
