"""When a long run of steps keeps its state, so that it can go backwards in bounded memory.

Pure functions of integers: `offline.py` for a known number of steps, `online.py` for an unknown one.
"""
