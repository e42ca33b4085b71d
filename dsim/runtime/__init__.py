"""Kernels at work: fields, launches, tapes, forward mode."""
