"""Facts about kernels, never changes: what they touch, what depends on what, what varies."""
