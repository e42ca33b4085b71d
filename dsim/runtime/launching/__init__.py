"""Programs bound to fields, and their launches in differentiating contexts.

It imports `fields`, `driver` and `state`. Begin with `forms.py`, then `contexts.py`; `host_kernels.py`
has Python's operations on fields, as launches.
"""
