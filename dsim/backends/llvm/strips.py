"""Loops that scatter: strips of iterations compute in vectors what is added, then add it one by one.

``g[cell[p]] += f(p)`` is not vectorised, since two iterations of a vector may add to one element; so all that
leads to the number stays scalar, too. Such a loop is strip-mined: the iterations of a strip put their
numbers, and where these belong, on the stack, which LLVM vectorises; then a loop adds them, in the order of
the text. See docs/decisions/0055-scatters-in-strips.md.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

from dsim.analysis.data_indices import chosen_by_data
from dsim.backends.llvm.arithmetic.primitives import binary
from dsim.backends.llvm.arithmetic.wrapping import wraps
from dsim.backends.llvm.cost import known_trips
from dsim.backends.llvm.memory import access, atomics
from dsim.backends.llvm.memory.elements import fetch, multiplied_out, narrow, offset, put
from dsim.backends.llvm.memory.windows import Forms
from dsim.backends.llvm.places import MemRef
from dsim.backends.llvm.text import STORED, TYPE, WIDTH, number
from dsim.backends.llvm.writer import Writer
from dsim.ir.nodes import Accumulate, Const, For, If, Let, Load, MemoryKey, Store
from dsim.ir.types import f32
from dsim.ir.walk import statements

_LONGEST = 32  # iterations of a strip
_SHORTEST = 16
_FIRST_CACHE = 1 << 15  # bytes of it that a strip may fill
_STACK = 1 << 17  # bytes of all strips, and other buffers, of one function
_FEWEST = 64  # iterations that a loop must have; a loop inside another one usually has fewer than pay
_MOST = 3000  # statements of a loop: LLVM would analyse a longer one for too long
_NEAR = 1 << 30  # elements whose distance is that of their indices, whether or not these wrap around


class _Place(NamedTuple):
    """Where accumulations go, as far as it varies between iterations: a slot per iteration of a strip.

    `constant` counts the elements from there to index 0 of what does not vary.
    """

    memory: MemRef
    slots: str
    type: str
    constant: int


class _Sum(NamedTuple):
    """An accumulation: its place, how many elements behind that, the slots of its numbers and their type.

    Those to two components of an element are one, of vectors of two.
    """

    statement: Accumulate
    place: _Place
    distance: int
    slots: str
    type: str


class Strip:
    """The accumulations of one loop that wait for the end of a strip, and their part in writing it.

    Attributes
    ----------
    length : int
        The iterations of a strip.
    """

    def __init__(self, w: Writer, loop: For, waiting: list[Accumulate], length: int) -> None:
        self.w = w
        self.length = length
        self.index = loop.index
        self.forms = Forms(w, loop)
        self.first = self.lane = ""
        self.places: dict[object, _Place] = {}
        self.sums: list[_Sum] = []
        self.pairs = _pairs(w, waiting)
        self.slots: dict[int, str] = {}
        self.waiting = waiting
        for s in waiting:
            w.deferred[id(s)] = partial(self._take, s)

    def open(self, first: str) -> None:
        """Starts a strip, at iteration `first`."""
        self.first = first

    def close(self) -> None:
        """Ends the last strip: what follows adds at once."""
        for s in self.waiting:
            del self.w.deferred[id(s)]

    def add(self, lane: str) -> None:
        """Adds what iteration number `lane` of the strip has put aside."""
        w, at = self.w, {}
        for p in self.places.values():
            where = w.f.let(
                f"load {p.type}, ptr {_slot(w, p.slots, p.type, lane)}, align {int(p.type[1:]) // 8}"
            )
            where = w.f.let(f"sext i32 {where} to i64") if p.type == "i32" else where
            base = p.memory.target or p.memory.base
            at[id(p)] = w.f.let(f"getelementptr {STORED[p.memory.memory.type]}, ptr {base}, i64 {where}")
        for s in self.sums:
            self._add(s, at[id(s.place)], lane)

    def _add(self, s: _Sum, address: str, lane: str) -> None:
        w, place, op = self.w, s.place.memory, s.statement.op
        t = place.memory.type
        value = w.f.let(f"load {s.type}, ptr {_slot(w, s.slots, s.type, lane)}, align {WIDTH[t]}")
        if s.distance:
            address = w.f.let(f"getelementptr {STORED[t]}, ptr {address}, i64 {s.distance}")
        if s.type != TYPE[t]:
            old = w.f.let(f"load {s.type}, ptr {address}, align {WIDTH[t]}")
            new = w.f.let(f"fadd{w.f.module.flags('fadd')} {s.type} {old}, {value}")
            w.f.do(f"store {s.type} {new}, ptr {address}, align {WIDTH[t]}")
        elif place.atomic:
            atomics.accumulate(w.f, op, t, address, value, False)
        else:
            put(w, place, address, binary(w.f, w.target, op, t, fetch(w, place, address), value))

    def _take(self, s: Accumulate, value: str) -> None:
        """Puts the number that `s` adds in the open trip into its slot, in place of the accumulation."""
        w, memory = self.w, self.w.places[s.memory.key]
        t = memory.memory.type
        if not self.lane:
            self.lane = w.f.let(f"sub nsw i64 {w.wide(self.index)}, {self.first}")
        if w.checked(s):
            place, distance, value = self._clamped(s, memory, value)
        else:
            place, distance = self._exact(s, memory)
        first, half = self.pairs.get(id(s), (id(s), -1))
        if first == id(s):
            type = TYPE[t] if half < 0 else f"<2 x {TYPE[t]}>"
            self.slots[first] = w.f.slot(f"[{self.length} x {type}]", 64)
            self.sums.append(_Sum(s, place, distance - max(half, 0), self.slots[first], type))
        lane = self.lane
        if half >= 0:
            lane = w.f.let(f"shl nuw nsw i64 {lane}, 1")
            lane = w.f.let(f"or disjoint i64 {lane}, 1") if half else lane
        w.f.do(f"store {TYPE[t]} {value}, ptr {_slot(w, self.slots[first], TYPE[t], lane)}, align {WIDTH[t]}")

    def _clamped(self, s: Accumulate, memory: MemRef, value: str) -> tuple[_Place, int, str]:
        """The nearest element, and a number that changes nothing if the index is out of bounds."""
        w, t = self.w, memory.memory.type
        parts, changed = access.clamped_parts(w, memory, s.index)
        inside = w.f.let(f"icmp eq i32 {changed}, 0")
        value = w.f.let(f"select i1 {inside}, {TYPE[t]} {value}, {TYPE[t]} {number(0, t)}")
        fixed = sum(p * int(d) for p, d in zip(parts, memory.strides, strict=True) if isinstance(p, int))
        varying = tuple(p if isinstance(p, str) else 0 for p in parts)
        place = self.places.get((s.memory.key, varying))
        if place is None:
            place = self._place((s.memory.key, varying), memory, offset(w, memory, varying), "i32", 0)
        return place, fixed, value

    def _exact(self, s: Accumulate, memory: MemRef) -> tuple[_Place, int]:
        """The element of an index that is in bounds: that of an accumulation nearby, and the distance."""
        w = self.w
        key: object = s.memory.key, s.index
        constant = 0
        if all(isinstance(d, int) for d in memory.strides) and all(a.type.bits >= 32 for a in s.index):
            forms = [self.forms.form(a) for a in s.index]
            if all(abs(c) < _NEAR for _, c in forms):
                key = s.memory.key, tuple(base for base, _ in forms)
                constant = sum(c * int(d) for (_, c), d in zip(forms, memory.strides, strict=True))
        place = self.places.get(key)
        if place is None:
            parts = [narrow(w, a) for a in s.index] if memory.small else [None]
            if None in parts:
                where = str(multiplied_out(w, memory, tuple(w.wide(a) for a in s.index)))
                place = self._place(key, memory, where, "i64", constant)
            else:
                place = self._place(key, memory, offset(w, memory, parts), "i32", constant)
        return place, constant - place.constant

    def _place(self, key: object, memory: MemRef, where: str, type: str, constant: int) -> _Place:
        w = self.w
        slots = w.f.slot(f"[{self.length} x {type}]", 64)
        w.f.do(f"store {type} {where}, ptr {_slot(w, slots, type, self.lane)}, align {int(type[1:]) // 8}")
        place = self.places[key] = _Place(memory, slots, type, constant)
        return place


def _pairs(w: Writer, waiting: list[Accumulate]) -> dict[int, tuple[int, int]]:
    """The additions to two components of an element, one after the other: the first, and which component."""
    found: dict[int, tuple[int, int]] = {}
    before: dict[MemoryKey, Accumulate] = {}
    for s in waiting:
        place, a = w.places[s.memory.key], before.get(s.memory.key)
        step = _step(a, s) if a is not None and id(a) not in found else 0
        if a is not None and step and s.memory.type.is_float and place.strides[-1] == 1 and not place.atomic:
            found[id(a)], found[id(s)] = (id(a), int(step < 0)), (id(a), int(step > 0))
        before[s.memory.key] = s
    return found


def _step(a: Accumulate, b: Accumulate) -> int:
    """1 or -1 if `b` adds to the component after or before that of `a`, else 0."""
    x, y = a.index[-1], b.index[-1]
    if a.index[:-1] != b.index[:-1] or not isinstance(x, Const) or not isinstance(y, Const):
        return 0
    step = int(y.value) - int(x.value)
    return step if abs(step) == 1 and a.op == b.op == "add" else 0


def _slot(w: Writer, slots: str, type: str, lane: str) -> str:
    return w.f.let(f"getelementptr inbounds {type}, ptr {slots}, i64 {lane}")


def find(w: Writer, loop: For) -> Strip | None:
    """What waits in the strips of a loop; None if it is better written as it is."""
    inside = tuple(statements(loop.body))
    if w.dry or not loop.parallel or loop.step != 1 or loop.goes_on is not None or loop.index.type.bits == 64:
        return None
    if len(inside) > _MOST or not all(isinstance(s, Let | Load | Store | Accumulate | If) for s in inside):
        return None
    trips = known_trips(loop)
    if not w.target.lanes(f32) or (trips < _FEWEST if trips is not None else w.loops > 0):
        return None
    waiting = _scattered(w, loop)
    if not waiting or not _vectors(w, loop):
        return None
    most = 16 * len(waiting)  # bytes for an iteration: of a number and its place, each
    length = min(_LONGEST, 1 << (_FIRST_CACHE // most).bit_length() - 1)
    if length < _SHORTEST or w.stack + most * length > _STACK:
        return None
    w.stack += most * length
    return Strip(w, loop, waiting, length)


def _vectors(w: Writer, loop: For) -> bool:
    """Whether checks and indices let the loop become vectors once its accumulations are apart."""
    inside = statements(loop.body)
    checked = [s for s in inside if isinstance(s, Load | Store | Accumulate) and w.checked(s)]
    clamped = (w.flag and w.places[s.memory.key].small and not isinstance(s, Store) for s in checked)
    return all(clamped) and not wraps(loop, w.near)


def _scattered(w: Writer, loop: For) -> list[Accumulate]:
    """The accumulations to elements that data choose; none if one of them, or a store, would hinder vectors.

    That is so in a branch, and where the loop does something else with the memory.
    """
    inside = tuple(statements(loop.body))
    always = {id(s) for s in loop.body.statements}
    chosen = chosen_by_data(loop.body)
    found, other = list[Accumulate](), set[MemoryKey]()
    for s in inside:
        by_data = isinstance(s, Store | Accumulate) and any(a in chosen for a in s.index)
        if by_data and not (isinstance(s, Accumulate) and id(s) in always and _waits(w, s)):
            return []
        if isinstance(s, Accumulate) and by_data:
            found.append(s)
        elif isinstance(s, Load | Store | Accumulate):
            other.add(s.memory.key)
    return found if not any(s.memory.key in other for s in found) else []


def _waits(w: Writer, s: Accumulate) -> bool:
    """Whether nobody asks for the value before `s`, and a number out of bounds can be replaced by 0."""
    return s.old is None and s.memory.type.kind != "bool" and (s.op == "add" or not w.checked(s))
