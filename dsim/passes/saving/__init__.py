"""Chooses how an adjoint keeps its residuals, for a kernel that will be run and not differentiated.

`autodiff.forward_sweep` says what must be saved: residuals, in buffers marked by `Alloc.saves`. This package
chooses how each is kept: as a copy, as a mark in an undo log (`snapshots_to_undo_log`), or only for one
checkpoint segment at a time, where other segments are recomputed from their starts (`checkpoint_segments`).
It imports analyses and the passes beside it; begin with `placement.py`.
"""
