"""Settings, open contexts, turns, notices: what process, thread and task keep beside objects.

It imports nothing else of the runtime. Begin with `stack.py`, the contexts that are open where a line
runs.
"""
