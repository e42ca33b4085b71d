"""Rewrites that keep a kernel's meaning: pure functions from kernel to kernel, each in a file of its name."""
