"""What loops count through and carry, and the ways out of them.

It imports `expressions` and what is below. Begin with `carrying.py`.
"""
