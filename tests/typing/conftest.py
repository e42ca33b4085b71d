"""What is here is read by a type checker; pytest neither imports nor runs it."""

collect_ignore = ["program.py"]
