"""Neighbouring elements accumulated by one loop: ``g[j-1] += a; g[j] += b; g[j+1] += c``.

Written one by one these go three times over the same elements, each time needing what the trip before
has just stored, which prevents vectorisation. Iterations of a parallel loop may add in any order; so what
is meant for an element is kept in values that the loop carries, and added once, when the last trip
that adds to it is there. What is left after the loop is added behind it.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from dsim.backends.llvm.arithmetic.primitives import binary
from dsim.backends.llvm.memory.elements import element, fetch, put
from dsim.backends.llvm.text import STORED, TYPE, number
from dsim.backends.llvm.writer import Deferred, Writer
from dsim.ir.nodes import Accumulate, Atom, Block, Const, For, Let, Load, Statement, Var
from dsim.ir.walk import binds, blocks, statements

_WIDEST = 8

Place = tuple[Atom | None, int]  # an atom (None: 0) plus a number


@dataclass(slots=True)
class Window:
    """The accumulations of a loop to elements that lie next to each other on one axis.

    Attributes
    ----------
    first : Accumulate
        The one with the lowest index.
    axis : int
        The axis on which they differ.
    width : int
        How far the highest is from the lowest.
    pending : list
        While the loop is written: per step from the lowest, what is to be added there.
    address : str
        While the loop is written: the address of the lowest.
    """

    first: Accumulate
    axis: int
    width: int
    carried: list[tuple[str, int]] = field(default_factory=list)
    pending: list[str] = field(default_factory=list)
    address: str = ""


class Windows:
    """All windows of one loop, and their part in writing it."""

    def __init__(self, w: Writer, found: list[tuple[Window, dict[int, list[Accumulate]]]]) -> None:
        self.w = w
        self.windows = [window for window, _ in found]
        for window, members in found:
            for offset, accumulations in members.items():
                for s in accumulations:
                    w.deferred[id(s)] = _taker(w, window, offset, s)

    def open(self, before: str) -> None:
        """Starts the carried values at the head of the loop."""
        for window in self.windows:
            t = window.first.memory.type
            zero = number(0, t)
            window.carried = [self.w.f.open_phi(TYPE[t], zero, before) for _ in range(window.width)]
            window.pending = [name for name, _ in window.carried] + [zero]

    def close(self) -> list[list[str]]:
        """At the end of a trip: adds what is complete; what is carried to the next trip."""
        left = []
        for window in self.windows:
            _add(self.w, window, window.address, window.pending[0])
            left.append(window.pending[1:])
        for window, values in zip(self.windows, left, strict=True):
            for (_, at), value in zip(window.carried, values, strict=True):
                self.w.f.close_phi(at, value, self.w.f.block)
        return left

    def flush(self, left: list[list[str]]) -> None:
        """Behind the loop, when it made a trip: adds what is left."""
        for window, values in zip(self.windows, left, strict=True):
            place = self.w.places[window.first.memory.key]
            stored = STORED[place.memory.type]
            for steps, value in enumerate(values, 1):
                distance = self.w.times(place.strides[window.axis], steps)
                at = f"getelementptr inbounds {stored}, ptr {window.address}, i64 {distance}"
                _add(self.w, window, self.w.f.let(at), value)


def _taker(w: Writer, window: Window, offset: int, s: Accumulate) -> Deferred:
    """The replacement of one of the accumulations."""

    def take(value: str) -> None:
        old = window.pending[offset]
        t = s.memory.type
        window.pending[offset] = value if old == number(0, t) else binary(w.f, w.target, "add", t, old, value)
        if s is window.first:
            place = w.places[s.memory.key]
            window.address = element(w, place, tuple(w.wide(i) for i in s.index), place.target)

    return take


def _add(w: Writer, window: Window, address: str, value: str) -> None:
    place = w.places[window.first.memory.key]
    t = place.memory.type
    if value != number(0, t):
        put(w, place, address, binary(w.f, w.target, "add", t, fetch(w, place, address), value))


def find(w: Writer, loop: For) -> Windows | None:
    """The windows of a loop; None when there are none. It is an innermost parallel one, upwards by 1."""
    if w.dry or not loop.parallel or loop.step != 1 or loop.goes_on is not None:
        return None
    if sum(isinstance(s, Accumulate) for s in loop.body.statements) < 2:
        return None
    if any(blocks(s) for s in loop.body.statements):
        return None
    groups: dict[object, dict[int, list[Accumulate]]] = {}
    forms = Forms(w, loop)
    for s in loop.body.statements:
        if isinstance(s, Accumulate) and _movable(w, s):
            found = forms.window(s)
            if found is not None:
                key, offset = found
                groups.setdefault(key, {}).setdefault(offset, []).append(s)
    windows = [_window(members, loop.index, forms) for members in groups.values() if _worthwhile(members)]
    return Windows(w, windows) if windows else None


def _movable(w: Writer, s: Accumulate) -> bool:
    place = w.places[s.memory.key]
    plain = s.op == "add" and s.old is None and s.memory.type.kind != "bool"
    return plain and not place.atomic and (s.index, s.op) not in place.registers and not w.checked(s)


def _worthwhile(members: dict[int, list[Accumulate]]) -> bool:
    return len(members) > 1 and max(members) - min(members) <= _WIDEST


def _window(
    members: dict[int, list[Accumulate]], index: Var, forms: Forms
) -> tuple[Window, dict[int, list[Accumulate]]]:
    lowest = min(members)
    first = members[lowest][0]
    axis = next(n for n, a in enumerate(first.index) if forms.form(a)[0] == index)
    window = Window(first, axis, max(members) - lowest)
    return window, {offset - lowest: accumulations for offset, accumulations in members.items()}


class Forms:
    """Indices as an atom plus a number, as far as the loop's own text shows it."""

    def __init__(self, w: Writer, loop: For) -> None:
        self.w = w
        self.index = loop.index
        self.lets = {s.var: s for s in loop.body.statements if isinstance(s, Let)}
        self.inside = {v for s in statements(Block((loop,))) for v in _bound(s)}

    def form(self, a: Atom) -> Place:
        """`a` as an atom that is not such a sum itself, and a number."""
        if isinstance(a, Const):
            return None, int(a.value)
        s = self.lets.get(a) or self.w.definition(a)
        if s is not None and s.op in ("add", "sub") and isinstance(s.args[1], Const):
            base, constant = self.form(s.args[0])
            step = int(s.args[1].value)
            return base, constant + (step if s.op == "add" else -step)
        return a, 0

    def window(self, s: Load | Accumulate) -> tuple[object, int] | None:
        """A key that neighbours have in common, and where on its axis `s` lies."""
        forms = [self.form(a) for a in s.index]
        axes = [n for n, (base, _) in enumerate(forms) if base == self.index]
        if len(axes) != 1:
            return None
        rest = tuple(f for n, f in enumerate(forms) if n != axes[0])
        if any(base in self.inside for base, _ in rest):
            return None
        return (s.memory.key, axes[0], rest), forms[axes[0]][1]


def _bound(s: Statement) -> tuple[Var, ...]:
    return (*binds(s), s.index) if isinstance(s, For) else binds(s)
