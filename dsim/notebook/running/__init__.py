"""Runs of a program for a report, after which every field is as it was.

It imports `cell`. Begin with `state.py`, then `runs.py`.
"""
