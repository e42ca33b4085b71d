"""How an adjoint keeps what its way back needs: chosen here, for a kernel that is run as it stands.

`autodiff.forward_sweep` states what must be saved: residuals, in buffers whose `Alloc` says so. This package
chooses how each is kept: as it is (a copy), as a mark in an undo log (`snapshots_to_undo_log`), or only for
one checkpoint segment at a time, from whose start the others are computed again (`checkpoint_segments`). It
imports analyses and the passes beside it; begin with `placement.py`.
"""
