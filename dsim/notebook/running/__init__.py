"""Runs of a program for a report, which restore every field.

It imports `cell`. Begin with `state.py`, then `runs.py`.
"""
