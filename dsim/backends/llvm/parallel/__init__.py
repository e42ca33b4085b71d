"""A kernel in the form for processors: one entry runs its tasks, and splits loops among threads.

It imports the rest of `llvm`: what a task does, who runs which chunk, private copies. Begin with `emit.py`,
then `plans.py` and `tasks.py`.
"""
