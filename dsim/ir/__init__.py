"""The kernel language: nodes, types, the table of primitives, and how to build, walk, check and show.

It imports diagnostics and records. Begin with `nodes.py` and `types.py`, then `primitives.py`, the table.
"""
