"""Gradients compared with differences, by running a program again from the same state.

It imports `inspection` and what is below. Begin with `replays.py`, then `differences.py`.
"""
