"""The source of Python functions, what they capture, and the frontend's result.

It depends on Python alone. Begin with `source.py`; `lowered.py` has what goes in and what comes out.
"""
