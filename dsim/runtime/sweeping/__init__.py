"""The backward pass of a tape: adjoints of its calls, last call first, and the rows that it fills.

It imports `recording` and what is below. Begin with `sweep.py`.
"""
