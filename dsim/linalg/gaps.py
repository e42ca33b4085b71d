"""Division by the gap between two singular values or eigenvalues, which may be 0.

A gap of a few roundings cannot be told from 0: the vectors on its two sides are then any two of a plane,
and have no derivative. What would be divided by it counts as 0.
"""

from __future__ import annotations

from dsim.api.elementary import select
from dsim.api.functions import static
from dsim.api.kernels import func
from dsim.linalg.inputs import rounding


@func
def negligible(A):
    """How large a gap between singular values may be and count as none, as a part of the largest one."""
    return static(8 * rounding(A.dtype))


@func
def reciprocal(gap, least):
    """``1 / gap``, and 0 where the gap is not larger than `least`."""
    none = abs(gap) <= least
    return select(none, 0, 1 / select(none, 1, gap))
