"""Host operations: NumPy functions on the values of fields, with derivatives that a user registers.

It imports `launching` and what is below. Begin with `operation.py`, then `forms.py`.
"""
