"""When a long run of steps keeps its state, so that it can go backwards in bounded memory.

Pure functions of integers, which import nothing of dsim. Begin with `offline.py`, for a known number of
steps; `online.py` is for an unknown one.
"""
