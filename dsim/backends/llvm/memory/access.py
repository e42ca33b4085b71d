"""Loads, stores and accumulations: instructions, and bounds checks.

An index that needs a check is compared before the access, with a branch; or, in loops where
`llvm/checks.py` allows it, it is clamped, and whether that changed it is looked at after the loop.
"""

from __future__ import annotations

from collections.abc import Callable

from dsim.backends.llvm.arithmetic.integers import widened
from dsim.backends.llvm.arithmetic.primitives import binary
from dsim.backends.llvm.memory import atomics
from dsim.backends.llvm.memory.elements import clamped, element, fetch, put, reach, scattered
from dsim.backends.llvm.places import Length, MemRef
from dsim.backends.llvm.text import TYPE, number
from dsim.backends.llvm.writer import Writer
from dsim.ir.nodes import Accumulate, Append, Atom, Const, Load, Store, Var
from dsim.ir.types import i32, i64


def _inside(w: Writer, place: MemRef, index: tuple[Length, ...]) -> str:
    """Whether all indices are in bounds."""
    holds = ""
    for i, length in zip(index, place.shape, strict=True):
        test = w.f.let(f"icmp ult i64 {i}, {length}")
        holds = w.f.let(f"and i1 {holds}, {test}") if holds else test
    return holds


def _to_check(w: Writer, s: Load | Store | Accumulate | Append, place: MemRef) -> tuple[Length, ...]:
    return tuple([w.to_check(i, length) for i, length in zip(s.index, place.shape, strict=True)])


def load(w: Writer, s: Load) -> None:
    """``var = memory[index]``; a checked index that is out of bounds is reported and clamped."""
    place = w.places[s.memory.key]
    if w.checked(s) and w.flag and place.small:
        at, _ = _clamped_address(w, place, s.index, "")
    elif w.checked(s):
        at = element(w, place, _checked_index(w, s, place, _to_check(w, s, place)))
    else:
        at = reach(w, place, s.index)
    w.env[s.var] = fetch(w, place, at)


def _outside(w: Writer, s: Load | Store | Accumulate | Append, index: tuple[Length, ...]) -> None:
    """Records that an index is out of bounds; in a loop with deferred checks, only the fact that one is."""
    if w.flag:
        w.f.do(f"store i32 1, ptr {w.flag}, align 4")
    else:
        w.fault("bounds", s, index)


def _clamped_address(w: Writer, place: MemRef, index: tuple[Atom, ...], base: str) -> tuple[str, str]:
    """The address of the nearest element, and bits that are 0 if the index is in bounds; notes these."""
    parts, changed = clamped_parts(w, place, index)
    return scattered(w, place, parts, base), changed


def clamped_parts(w: Writer, place: MemRef, index: tuple[Atom, ...]) -> tuple[list[Length], str]:
    """The index of the nearest element, and bits that are 0 if the index is in bounds; notes these."""
    parts: list[Length] = []
    changed = ""
    for a, length in zip(index, place.shape, strict=True):
        key = (a, length)
        found = w.remembered(key)
        if found is None:
            found = _nearest(w, a, int(length))
            w.remember(key, found)
            if found[1]:
                noted = w.f.let(f"load i32, ptr {w.flag}, align 4")
                w.f.do(f"store i32 {w.f.let(f'or i32 {noted}, {found[1]}')}, ptr {w.flag}, align 4")
        part, difference = found
        parts.append(part)
        if difference:
            changed = w.f.let(f"or i32 {changed}, {difference}") if changed else difference
    return parts, changed or "0"


def _nearest(w: Writer, a: Atom, length: int) -> tuple[Length, str]:
    """The clamped index with 32 bits, and bits that tell whether clamping changed it."""
    if isinstance(a, Const) and 0 <= int(a.value) < length:
        return int(a.value), ""
    t = i64 if a.type.bits == 64 or not w.is_safe(a, length) else i32
    bits = f"i{t.bits}"
    narrow = t == i32 and isinstance(a, Var)
    index = widened(w.f, w.value(a), a.type, t) if narrow else str(w.to_check(a, length))
    inside = w.f.let(f"icmp ult {bits} {index}, {length}")
    kept = w.f.let(f"select i1 {inside}, {bits} {index}, {bits} {length - 1}")
    changed = w.f.let(f"xor {bits} {kept}, {index}")
    if t == i32:
        return kept, changed
    other = w.f.let(f"icmp ne i64 {changed}, 0")
    return w.f.let(f"trunc i64 {kept} to i32"), w.f.let(f"zext i1 {other} to i32")


def _checked_index(w: Writer, s: Load, place: MemRef, index: tuple[Length, ...]) -> tuple[Length, ...]:
    bad, good = w.f.label("outside"), w.f.label("inside")
    inside = _inside(w, place, index)
    before = w.f.block
    w.f.fork(inside, good, bad, w.likely)
    w.f.open(bad)
    _outside(w, s, index)
    nearest = clamped(w, place, index)
    w.f.jump(good)
    w.f.open(good)
    return tuple(
        w.f.phi("i64", [(str(i), before), (str(c), bad)]) for i, c in zip(index, nearest, strict=True)
    )


def store(w: Writer, s: Store) -> None:
    """``memory[index] = value``; skipped where a checked index is out of bounds."""
    place = w.places[s.memory.key]
    value = w.value(s.value)
    dry = w.dry and not place.memory.private
    guarded(w, s, place, "", lambda at: None if dry else put(w, place, at, value))


def guarded(
    w: Writer, s: Store | Accumulate | Append, place: MemRef, base: str, do: Callable[[str], None]
) -> str:
    """Runs `do` with the address, in a branch of its own when the index is checked; the branch's labels."""
    if not w.checked(s):
        do(reach(w, place, s.index, base))
        return ""
    index = _to_check(w, s, place)
    bad, good, after = w.f.label("outside"), w.f.label("inside"), w.f.label("after")
    w.f.fork(_inside(w, place, index), good, bad, w.likely)
    w.f.open(bad)
    _outside(w, s, index)
    w.f.jump(after)
    w.f.open(good)
    do(element(w, place, index, base))
    end = w.f.block
    w.f.jump(after)
    w.f.open(after)
    return f"{end} {bad}"


def accumulate(w: Writer, s: Accumulate) -> None:
    """``memory[index] = op(memory[index], value)``, plain, atomic or in a register."""
    place = w.places[s.memory.key]
    value = w.value(s.value)
    if id(s) in w.deferred:
        w.deferred[id(s)](value)
        return
    register = place.registers.get((s.index, s.op))
    if w.checked(s) and w.flag and place.small and s.op == "add" and s.old is None and register is None:
        _clamped_accumulate(w, s, place, value)
        return
    olds: list[str] = []

    def do(address: str) -> None:
        if w.dry and not place.memory.private:
            olds.append(fetch(w, place, address))
            return
        if register is not None:
            register.add(w.f, w.target, value, place.memory.type)
            return
        if place.atomic:
            old = atomics.accumulate(w.f, s.op, place.memory.type, address, value, s.old is not None)
            olds.append(old or "")
            return
        old = fetch(w, place, address)
        olds.append(old)
        put(w, place, address, binary(w.f, w.target, s.op, place.memory.type, old, value))

    labels = guarded(w, s, place, place.target if s.op == "add" else "", do)
    if s.old is None:
        return
    if labels:
        end, bad = labels.split()
        nothing = w.value(Const(0, s.old.type))
        w.env[s.old] = w.f.phi(TYPE[s.old.type], [(olds[0], end), (nothing, bad)])
    else:
        w.env[s.old] = olds[0]


def _clamped_accumulate(w: Writer, s: Accumulate, place: MemRef, value: str) -> None:
    """Adds to the nearest element, nothing if the index is out of bounds."""
    t = place.memory.type
    address, changed = _clamped_address(w, place, s.index, place.target)
    inside = w.f.let(f"icmp eq i32 {changed}, 0")
    value = w.f.let(f"select i1 {inside}, {TYPE[t]} {value}, {TYPE[t]} {number(0, t)}")
    if place.atomic:
        atomics.accumulate(w.f, s.op, t, address, value, False)
    else:
        put(w, place, address, binary(w.f, w.target, s.op, t, fetch(w, place, address), value))
