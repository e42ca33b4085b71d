"""A type checker reads this folder; pytest neither imports nor runs it."""

collect_ignore = ["program.py"]
