"""What this machine can do: the bandwidth of a triad, and the rate of a polynomial of degree 64."""

from __future__ import annotations

from typing import NamedTuple

import dsim as ds
from tests.bench.timing import best

_LARGE = 1 << 25  # numbers of an array that no cache holds
_SMALL = 1 << 12  # of one that the first cache holds
_DEGREE, _TIMES = 64, 256


class Peaks(NamedTuple):
    """Bytes and operations a second."""

    bandwidth: float
    rate: float


def peaks() -> Peaks:
    """Measures on the threads that dsim uses."""
    a, b, c = (ds.field(ds.f32, shape=_LARGE) for _ in range(3))
    x = ds.field(ds.f32, shape=(64, _SMALL))

    @ds.kernel
    def triad():
        for i in a:
            a[i] = b[i] + 0.5 * c[i]

    @ds.kernel
    def polynomial():
        for task in range(64):
            for _ in range(_TIMES // 64):
                for i in range(_SMALL):
                    v, y = x[task, i], 1.0
                    for _ in ds.static(range(_DEGREE)):
                        y = y * v + 0.25
                    x[task, i] = y * 1e-30

    for k in (triad, polynomial):
        k()
    moved, computed = 3 * 4 * _LARGE, 2 * _DEGREE * _SMALL * _TIMES
    return Peaks(moved / best(triad), computed / best(polynomial))
