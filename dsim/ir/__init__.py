"""The kernel language: nodes, types, the table of primitives, and how to build, walk, check and show."""
