"""Division by the gap between two singular values or eigenvalues, which may be 0.

A gap of a few roundings is indistinguishable from 0: the two vectors are then an arbitrary basis of a plane
and have no derivative. The quotient is defined as 0.
"""

from __future__ import annotations

from dsim.api.elementary import select
from dsim.api.functions import static
from dsim.api.kernels import func
from dsim.linalg.inputs import rounding


@func
def negligible(A):
    """The largest gap between singular values that counts as 0, relative to the largest singular value."""
    return static(8 * rounding(A.dtype))


@func
def reciprocal(gap, least):
    """``1 / gap``, and 0 where the gap is not larger than `least`."""
    none = abs(gap) <= least
    return select(none, 0, 1 / select(none, 1, gap))
