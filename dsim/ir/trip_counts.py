"""Statements that compute the trip count of a loop, and the index of trip number k (from 0).

The distance between a range's ends may wrap; a trip count here never does.
"""

from __future__ import annotations

from dsim.ir.build import Builder, const
from dsim.ir.nodes import Atom, Const, For
from dsim.ir.ranges import MOST, length
from dsim.ir.types import i32, i64, u64


def trip_count(b: Builder, s: For, start: Atom, stop: Atom) -> Atom:
    """Appends the length of the range of `s`: an i32 where that holds every such length, else an i64.

    A length beyond i64 saturates: no launch completes that many trips, and no memory holds a residual for
    each of them.
    """
    low, high, step = (start, stop, s.step) if s.step > 0 else (stop, start, -s.step)
    if isinstance(low, Const) and isinstance(high, Const):
        known = min(length(int(low.value), int(high.value), step), MOST)
        return const(known, i32 if known < 1 << 31 else i64)
    t, near = s.index.type, isinstance(low, Const) and low.value >= 0
    if t.bits == 64 and not (near and t == i64):
        return _of_64_bits(b, low, high, step)
    counts = i32 if t.bits < 32 or (near and t == i32) else i64
    low, high = (b.let("cast", end, type=counts) for end in (low, high))
    distance = b.let("sub", b.let("max", high, low, hint="trips"), low, hint="trips")
    return _steps(b, distance, min(step, (1 << counts.bits - 1) - 1))


def _of_64_bits(b: Builder, low: Atom, high: Atom, step: int) -> Atom:
    """The trip count where the distance may need an unsigned 64-bit integer."""
    some = b.let("lt", low, high)
    low, high = (b.let("cast", end, type=u64) for end in (low, high))
    trips = _steps(b, b.let("sub", high, low), step)
    countable = b.let("min", trips, const(MOST, u64))
    return b.let("select", some, b.let("cast", countable, type=i64), const(0, i64), hint="trips")


def _steps(b: Builder, distance: Atom, step: int) -> Atom:
    """A distance divided by a step, rounded up; an unsigned distance is not 0."""
    if step == 1:
        return distance
    one = const(1, distance.type)
    others = b.let("floordiv", b.let("sub", distance, one), const(step, distance.type))
    return b.let("add", others, one, hint="trips")


def index_of(b: Builder, first: Atom, trip: Atom, step: int, hint: str) -> Atom:
    """Appends the index in trip number `trip` of a loop whose first index is `first`."""
    t = first.type
    offset = b.let("mul", b.let("cast", trip, type=t), const(step, t))
    return b.let("add", first, offset, hint=hint)
