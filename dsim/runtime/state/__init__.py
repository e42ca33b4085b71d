"""Settings, open contexts, turns, notices: state of the process, of threads and of tasks.

It imports nothing else of the runtime. Begin with `stack.py`, the contexts that are open where a line
runs.
"""
