"""Interval analysis of the integers of a kernel, from constants alone.

It proves accesses in bounds at any point of the kernel, so that they may be moved.
"""

from __future__ import annotations

from collections.abc import Mapping

from dsim.ir.nodes import Atom, Const, For, KernelIR, Let, Memory, Var, While
from dsim.ir.operators import COMPARISONS
from dsim.ir.ranges import known_trips
from dsim.ir.walk import statements

Interval = tuple[int, int]  # both ends included


class Intervals:
    """The intervals of the integers seen so far."""

    def __init__(self) -> None:
        self._known: dict[str, Interval] = {}

    def copy(self) -> Intervals:
        """The same, to be extended apart."""
        other = Intervals()
        other._known = dict(self._known)
        return other

    def of(self, a: Atom) -> Interval | None:
        """The interval of `a`; None if unknown."""
        if isinstance(a, Const):
            return (int(a.value), int(a.value)) if a.type.is_integer else None
        return self._known.get(a.name)

    def enter(self, s: For) -> None:
        """Adds the index of `s`: its interval in the body, so in trips only."""
        start, stop = self.of(s.start), self.of(s.stop)
        if start is not None and stop is not None:
            low, high = (start[0], stop[1] - 1) if s.step > 0 else (stop[0] + 1, start[1])
            if low <= high:
                self._known[s.index.name] = (low, high)

    def note(self, s: Let) -> None:
        """Adds the variable that `s` binds."""
        if not s.var.type.is_integer:
            return
        found = self._value(s)
        bits, signed = s.var.type.bits, s.var.type.kind == "int"
        lowest = -(1 << (bits - 1)) if signed else 0
        if found is not None and lowest <= found[0] and found[1] < lowest + (1 << bits):  # no overflow
            self._known[s.var.name] = found

    def holds(self, s: Let) -> bool | None:
        """Whether the comparison `s` holds; None if that is unknown, or `s` is none."""
        if s.op not in COMPARISONS:
            return None
        x, y = map(self.of, s.args)
        if x is None or y is None:
            return None
        match s.op:
            case "lt" | "ge":
                less = True if x[1] < y[0] else False if x[0] >= y[1] else None
            case "gt" | "le":
                less = True if y[1] < x[0] else False if y[0] >= x[1] else None
            case _:
                less = False if x[1] < y[0] or y[1] < x[0] else True if x == y and x[0] == x[1] else None
        return less if less is None or s.op in ("lt", "gt", "eq") else not less

    def _value(self, s: Let) -> Interval | None:
        known = [self.of(a) for a in s.args]
        if s.op == "mod" and known[1] is not None and known[1][0] > 0:
            return 0, known[1][1] - 1
        ends = [k for k in known if k is not None]
        if len(ends) < len(known):
            return None
        if s.op in ("cast", "stop"):
            return ends[0]
        if len(ends) == 2:
            return _binary(s.op, *ends)
        return None

    def inside(self, memory: Memory, index: tuple[Atom, ...]) -> bool:
        """Whether ``memory[index]`` is provably in bounds."""
        for length, a in zip(memory.shape, index, strict=True):
            at = self.of(a)
            if length is None or at is None or at[0] < 0 or at[1] >= length:
                return False
        return True


def near_dividends(kernel: KernelIR) -> Mapping[Var, Interval]:
    """The remainders ``x % n`` of `kernel`, constant `n`, with ``-n <= x < 2 n``; and the interval of `x`.

    Such a remainder is `x`, ``x + n`` or ``x - n``: the index of a neighbour on a periodic grid.
    """
    found: dict[Var, Interval] = {}
    intervals = Intervals()
    for s in statements(kernel.body):
        if isinstance(s, For):
            intervals.enter(s)
        elif isinstance(s, Let):
            intervals.note(s)
            x = intervals.of(s.args[0]) if s.op == "mod" else None
            n = s.args[1] if s.op == "mod" else None
            if x is not None and isinstance(n, Const) and -int(n.value) <= x[0] and x[1] < 2 * int(n.value):
                found[s.var] = x
    return found


def runs(s: For | While) -> bool:
    """Whether `s` certainly makes at least one trip."""
    if isinstance(s, While) or s.goes_on is not None:
        return False
    return bool(known_trips(s))


def _binary(op: str, a: Interval, b: Interval) -> Interval | None:
    match op:
        case "add":
            return a[0] + b[0], a[1] + b[1]
        case "sub":
            return a[0] - b[1], a[1] - b[0]
        case "mul":
            products = [x * y for x in a for y in b]
            return min(products), max(products)
        case "max":
            return max(a[0], b[0]), max(a[1], b[1])
        case "min":
            return min(a[0], b[0]), min(a[1], b[1])
        case _:
            return None
