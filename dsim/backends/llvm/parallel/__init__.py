"""Loops split among threads: what a task does, who runs which chunk, private copies and partial sums.

It imports the rest of `llvm`. Begin with `plans.py`, then `tasks.py`.
"""
