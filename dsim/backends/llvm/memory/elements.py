"""Addresses of elements: index arithmetic, bounds, loads, stores and accumulations.

Index arithmetic is done in 64 bits without wrapping. For an index that is known to be in bounds this
gives the same element as arithmetic that wraps at 32 bits, and vectors need it; an index that is
checked is taken as the kernel computed it.
"""

from __future__ import annotations

from collections.abc import Sequence

from dsim.backends.llvm.arithmetic.integers import widened
from dsim.backends.llvm.frame import from_stored, to_stored
from dsim.backends.llvm.places import Length, MemRef
from dsim.backends.llvm.text import STORED, WIDTH
from dsim.backends.llvm.writer import Writer
from dsim.ir.nodes import Atom, Const, Var
from dsim.ir.types import i32


def element(w: Writer, place: MemRef, index: tuple[Length, ...], base: str = "") -> str:
    """The address of an element, by indices of 64 bits; relative to `base` where that is given."""
    stored = STORED[place.memory.type]
    base = base or place.base
    if not index:
        return base
    if place.dense:
        array = stored
        for length in reversed(place.shape[1:]):
            array = f"[{length} x {array}]"
        indices = ", ".join(f"i64 {i}" for i in index)
        return w.f.let(f"getelementptr inbounds {array}, ptr {base}, {indices}")
    return w.f.let(f"getelementptr inbounds {stored}, ptr {base}, i64 {multiplied_out(w, place, index)}")


def multiplied_out(w: Writer, place: MemRef, index: tuple[Length, ...]) -> Length:
    """How many elements there are before one, by indices of 64 bits."""
    total: Length = 0
    for i, stride in zip(index, place.strides, strict=True):
        total = w.plus(total, w.times(i, stride))
    return total


def reach(w: Writer, place: MemRef, index: tuple[Atom, ...], base: str = "") -> str:
    """The address of an element whose index is in bounds.

    An index that is data is multiplied out in 32 bits where they are enough: vectors gather twice as
    many elements by such offsets.
    """
    if place.small and any(isinstance(i, Var) and i not in w.regular for i in index):
        parts = [narrow(w, i) for i in index]
        if None not in parts:
            return scattered(w, place, parts, base)
    return element(w, place, tuple(w.wide(i) for i in index), base)


def narrow(w: Writer, a: Atom) -> Length | None:
    """The integer atom with 32 bits; None when it has more."""
    if isinstance(a, Const):
        return int(a.value)
    return widened(w.f, w.env[a], a.type, i32) if a.type.bits <= 32 else None


def scattered(w: Writer, place: MemRef, index: Sequence[Length | None], base: str = "") -> str:
    """The address of an element of a small place, by indices of 32 bits that are in bounds."""
    distance = w.f.let(f"sext i32 {offset(w, place, index)} to i64")
    return w.f.let(
        f"getelementptr inbounds {STORED[place.memory.type]}, ptr {base or place.base}, i64 {distance}"
    )


def offset(w: Writer, place: MemRef, index: Sequence[Length | None]) -> str:
    """How many elements there are before one of a small place, by indices of 32 bits that are in bounds."""
    constant, total = 0, ""
    for i, stride in zip(index, place.strides, strict=True):
        if isinstance(i, int):
            constant += i * int(stride)
            continue
        part = i if stride == 1 else w.f.let(f"mul nsw i32 {i}, {stride}")
        total = w.f.let(f"add nsw i32 {total}, {part}") if total else str(part)
    if constant:
        total = w.f.let(f"add nsw i32 {total}, {constant}") if total else str(constant)
    return total or "0"


def clamped(w: Writer, place: MemRef, index: tuple[Length, ...]) -> tuple[Length, ...]:
    """The nearest indices in bounds; all 0 where there is no element: an empty memory has room for one."""
    if 0 in place.shape:
        return (0,) * len(index)
    nearest = [_clamp(w, i, length) for i, length in zip(index, place.shape, strict=True)]
    for length in place.shape:
        if isinstance(length, str):
            some = w.f.let(f"icmp sgt i64 {length}, 0")
            nearest = [w.f.let(f"select i1 {some}, i64 {i}, i64 0") for i in nearest]
    return tuple(nearest)


def _clamp(w: Writer, i: Length, length: Length) -> str:
    last = w.plus(length, -1)
    below = w.f.let(f"icmp slt i64 {i}, {length}")
    capped = w.f.let(f"select i1 {below}, i64 {i}, i64 {last}")
    positive = w.f.let(f"icmp sgt i64 {capped}, 0")
    return w.f.let(f"select i1 {positive}, i64 {capped}, i64 0")


def fetch(w: Writer, place: MemRef, address: str) -> str:
    """The value at an address of this memory."""
    t = place.memory.type
    return from_stored(w.f, t, w.f.let(f"load {STORED[t]}, ptr {address}, align {WIDTH[t]}"))


def put(w: Writer, place: MemRef, address: str, value: str) -> None:
    """Stores a value at an address of this memory."""
    t = place.memory.type
    w.f.do(f"store {STORED[t]} {to_stored(w.f, t, value)}, ptr {address}, align {WIDTH[t]}")
