"""From a kernel of the frontend to programs that can be compiled and derived, on any fields.

It imports settings (`state`) and no fields. Begin with `programs.py`; `pipeline.py` has the passes in
their order.
"""
