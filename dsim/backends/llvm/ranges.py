"""Ranges as LLVM: 64 bits hold every index, but neither one step more than the last nor every distance.

Of narrower types no sum here wraps. An index of 64 bits that goes by more than one may jump over both its
stop and the end of its type: such a loop counts its trips. Going by one, no index is ever beyond its stop.
"""

from __future__ import annotations

from dsim.backends.llvm.cost import known_trips
from dsim.backends.llvm.places import Length
from dsim.backends.llvm.text import Function
from dsim.backends.llvm.writer import Writer
from dsim.ir.nodes import Const, For
from dsim.ir.ranges import MOST
from dsim.ir.types import ScalarType, u64
from dsim.records import record

_ALL = (1 << 64) - 1


def before(t: ScalarType, step: int) -> str:
    """The comparison by which an index has not reached its stop yet."""
    return ("u" if t == u64 else "s") + ("lt" if step > 0 else "gt")


def leaps(s: For) -> bool:
    """Whether an index of `s` may wrap one step after the last trip."""
    t, sign = s.index.type, 1 if s.step > 0 else -1
    if t.bits < 64 or abs(s.step) == 1:
        return False
    low = 0 if t == u64 else -MOST - 1
    return not isinstance(s.stop, Const) or not low <= int(s.stop.value) - sign + s.step <= low + _ALL


@record
class Counter:
    """A loop counter: from `first` by `step` while it compares with `end`; `flags` are those of its sums.

    It is the index itself, or the number of the trip: where the index `leaps`, or trips are constant.
    """

    first: Length
    end: Length
    step: int
    comparison: str
    flags: str
    leaps: tuple[Length, int] | None = None  # the first index, and the step

    def index(self, f: Function, number: str) -> str:
        """The index in the trip where the counter is `number`."""
        if self.leaps is None:
            return number
        start, step = self.leaps
        distance = number if step == 1 else f.let(f"mul i64 {number}, {step}")
        return f.let(f"add i64 {start}, {distance}")


def counter(f: Function, s: For, start: Length, stop: Length) -> Counter:
    """How the loop `s` from `start` to `stop` counts."""
    if leaps(s):
        return Counter(0, trips(f, s, start, stop), 1, "ult", "nuw ", (start, s.step))
    flags = "" if s.index.type == u64 else "nsw "
    return Counter(start, stop, s.step, before(s.index.type, s.step), flags)


def counted_from(start: Length, trips: int) -> Counter:
    """How a loop of a constant number of trips counts, from index `start` by one."""
    return Counter(0, trips, 1, "slt", "nsw ", (start, 1))


def trips(f: Function, s: For, start: Length, stop: Length) -> str:
    """The length of a range of 64-bit numbers, modulo 2^64."""
    low, high = (start, stop) if s.step > 0 else (stop, start)
    some = f.let(f"icmp {before(s.index.type, 1)} i64 {low}, {high}")
    count = f.let(f"sub i64 {high}, {low}")
    if abs(s.step) != 1:
        others = f.let(f"udiv i64 {f.let(f'sub i64 {count}, 1')}, {abs(s.step)}")
        count = f.let(f"add i64 {others}, 1")
    return f.let(f"select i1 {some}, i64 {count}, i64 0")


def trip_count(w: Writer, s: For) -> Length:
    """How many iterations `s` has; at most as many as a signed number of 64 bits counts."""
    known = known_trips(s)
    if known is not None:
        return known
    count = trips(w.f, s, w.exact(s.start), w.exact(s.stop))
    if s.index.type.bits < 64:
        return count
    countable = w.f.let(f"icmp sge i64 {count}, 0")
    return w.f.let(f"select i1 {countable}, i64 {count}, i64 {MOST}")


def span(w: Writer, s: For, lo: str, hi: str) -> tuple[Length, Length]:
    """Between which indices the iterations `lo` to `hi` of `s` are; that behind the last may not exist."""
    f, t, start = w.f, s.index.type, w.exact(s.start)
    if t != u64 and (t.bits < 64 or abs(s.step) == 1):
        first, last = (w.plus(start, w.times(edge, s.step)) for edge in (lo, hi))
        return first, last
    first = f.let(f"add i64 {start}, {f.let(f'mul i64 {lo}, {s.step}')}")
    final = f.let(f"mul i64 {f.let(f'sub i64 {hi}, 1')}, {s.step}")
    final = f.let(f"add i64 {start}, {final}")
    behind = f.let(f"add i64 {final}, {1 if s.step > 0 else -1}")
    some = f.let(f"icmp ult i64 {lo}, {hi}")
    return first, f.let(f"select i1 {some}, i64 {behind}, i64 {first}")


def following(f: Function, s: For, at: str, distance: int) -> str:
    """`at` plus a distance, saturated at the limit of the type."""
    if s.index.type == u64:
        name, distance = "llvm.uadd.sat.i64" if distance > 0 else "llvm.usub.sat.i64", abs(distance)
    else:
        name = "llvm.sadd.sat.i64"
    declared = f.module.declare(name, f"declare i64 @{name}(i64, i64)")
    return f.call("i64", declared, f"i64 {at}", f"i64 {distance}")


def least(f: Function, a: Length, b: Length) -> str:
    """The lesser of two signed numbers."""
    return f.let(f"select i1 {f.let(f'icmp slt i64 {a}, {b}')}, i64 {a}, i64 {b}")


def greatest(f: Function, a: Length, b: Length) -> str:
    """The greater of two signed numbers."""
    return f.let(f"select i1 {f.let(f'icmp sgt i64 {a}, {b}')}, i64 {a}, i64 {b}")
