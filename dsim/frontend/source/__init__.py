"""The text of Python functions, what they capture, and what the frontend hands on.

It knows Python alone. Begin with `source.py`; `lowered.py` has what goes in and what comes out.
"""
