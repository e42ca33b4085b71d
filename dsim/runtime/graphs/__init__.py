"""Runs that are recorded once, and whose launches run again without Python between them.

It imports all below, and nothing of `transforms`. Begin with `graph.py`; `graph_recorder.py` says what can be
recorded.
"""
