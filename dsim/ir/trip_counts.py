"""Statements that number the trips of a loop from 0: how many there are, and with which index each.

Unlike the distance of a range's ends, a number of trips never wraps here.
"""

from __future__ import annotations

from dsim.ir.build import Builder, const
from dsim.ir.nodes import Atom, Const, For
from dsim.ir.ranges import MOST, length
from dsim.ir.types import i32, i64, u64


def trip_count(b: Builder, s: For, start: Atom, stop: Atom) -> Atom:
    """Appends how many numbers the range of `s` has: an i32 where it holds every such number, else an i64.

    More than an i64 counts become the most that it counts: nobody sees the end of as many trips, and a loop
    that saves each of them finds no memory.
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
    """The same where a distance may need 64 bits without a sign."""
    some = b.let("lt", low, high)
    low, high = (b.let("cast", end, type=u64) for end in (low, high))
    trips = _steps(b, b.let("sub", high, low), step)
    countable = b.let("min", trips, const(MOST, u64))
    return b.let("select", some, b.let("cast", countable, type=i64), const(0, i64), hint="trips")


def _steps(b: Builder, distance: Atom, step: int) -> Atom:
    """A distance divided by a step, rounded up; one without a sign is not 0."""
    if step == 1:
        return distance
    one = const(1, distance.type)
    others = b.let("floordiv", b.let("sub", distance, one), const(step, distance.type))
    return b.let("add", others, one, hint="trips")


def index_of(b: Builder, first: Atom, trip: Atom, step: int, hint: str) -> Atom:
    """Appends the index that the trip of this number has, in a loop that begins at `first`."""
    t = first.type
    offset = b.let("mul", b.let("cast", trip, type=t), const(step, t))
    return b.let("add", first, offset, hint=hint)
