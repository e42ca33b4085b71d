"""Sums that many iterations add to: one register per thread's chunk, combined in a fixed order.

Floats are summed in their own type over a bounded number of iterations and in f64 beyond, so that
the result depends neither on the number of threads nor on which one comes first.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

import numpy as np

from dsim.analysis.reductions import Reductions
from dsim.backends.llvm.arithmetic.integers import cast
from dsim.backends.llvm.arithmetic.primitives import binary
from dsim.backends.llvm.memory.elements import clamped, element, fetch, put
from dsim.backends.llvm.places import MemRef, Register
from dsim.backends.llvm.text import TYPE, number
from dsim.backends.llvm.writer import Writer
from dsim.ir.nodes import Accumulate, AccumulateOp, Atom, Block, For, KernelIR, Memory, MemoryKey, Var
from dsim.ir.types import ScalarType, f64
from dsim.ir.walk import statements
from dsim.records import record


@record
class PartialSum:
    """One such sum: an element of a memory that does not change over the loop, or a carried value.

    Attributes
    ----------
    op, type
        What is done, and the type of what comes in.
    memory, index
        The element; no memory for a carried value.
    """

    op: AccumulateOp
    type: ScalarType
    memory: Memory | None = None
    index: tuple[Atom, ...] = ()

    @property
    def wide(self) -> ScalarType:
        """The type in which chunks are combined."""
        return f64 if self.type.is_float and self.op in ("add", "mul") else self.type

    @property
    def identity(self) -> str:
        """The identity of the operation."""
        return number(_identity(self.op, self.type), self.type)

    @property
    def wide_identity(self) -> str:
        """The same in the wide type."""
        return number(_identity(self.op, self.wide), self.wide)


def _identity(op: AccumulateOp, t: ScalarType) -> float:
    if op in ("add", "bor", "bxor"):
        return 0
    if op == "mul":
        return 1
    if op == "band":
        return True if t.kind == "bool" else -1
    if t.is_float:
        return math.inf if op == "min" else -math.inf
    limits = np.iinfo(t.numpy)
    return int(limits.max if op == "min" else limits.min)


def find(
    kernel: KernelIR, loop: For, reduced: Iterable[MemoryKey], outside: Mapping[Var, object]
) -> list[PartialSum] | None:
    """All partial sums of a loop, carried values first; None where one of them cannot be kept so."""
    found: dict[PartialSum, None] = {}
    if loop.carried:
        ops = Reductions(kernel).of(loop)
        for v in loop.carried:
            op = ops[v]
            if op is None:
                return None
            found[PartialSum(op, v.type, None, (v,))] = None
    keys = frozenset(reduced)
    for s in statements(Block((loop,))):
        if isinstance(s, Accumulate) and s.memory.key in keys:
            if s.old is not None or any(isinstance(a, Var) and a not in outside for a in s.index):
                return None
            found[PartialSum(s.op, s.memory.type, s.memory, s.index)] = None
    return list(found)


def start(w: Writer, partials: list[PartialSum]) -> None:
    """Sets up registers for the partial sums of memories."""
    for p in partials:
        if p.memory is not None:
            slot = w.f.slot(TYPE[p.type])
            w.f.do(f"store {TYPE[p.type]} {p.identity}, ptr {slot}, align 8")
            w.places[p.memory.key].registers[p.index, p.op] = Register(slot, p.op, p.type)


def stop(w: Writer, partials: list[PartialSum], carried: tuple[str, ...]) -> None:
    """Writes the sums, widened, to where ``%partial`` points: carried values first."""
    values = list(carried)
    for p in partials:
        if p.memory is not None:
            slot = w.places[p.memory.key].registers[p.index, p.op].slot
            values.append(w.f.let(f"load {TYPE[p.type]}, ptr {slot}, align 8"))
    for i, (p, value) in enumerate(zip(partials, values, strict=True)):
        wide = cast(w.f, value, p.type, p.wide)
        save(w, i, p, wide, "%partial")


def _at(w: Writer, i: int, base: str) -> str:
    return w.f.let(f"getelementptr inbounds i64, ptr {base}, i64 {i}")


def save(w: Writer, i: int, p: PartialSum, value: str, base: str) -> None:
    """Stores the sum number `i` into an array of sums."""
    if p.wide.kind == "bool":
        value = w.f.let(f"zext i1 {value} to i8")
    stored = "i8" if p.wide.kind == "bool" else TYPE[p.wide]
    w.f.do(f"store {stored} {value}, ptr {_at(w, i, base)}, align 8")


def read(w: Writer, i: int, p: PartialSum, base: str) -> str:
    """The sum number `i` of an array of sums."""
    if p.wide.kind == "bool":
        return w.f.let(f"icmp ne i8 {w.f.let(f'load i8, ptr {_at(w, i, base)}, align 8')}, 0")
    return w.f.let(f"load {TYPE[p.wide]}, ptr {_at(w, i, base)}, align 8")


def clear(w: Writer, partials: list[PartialSum], base: str) -> None:
    """Sets an array of sums to what changes nothing."""
    for i, p in enumerate(partials):
        save(w, i, p, p.wide_identity, base)


def join(w: Writer, partials: list[PartialSum], into: str, base: str) -> None:
    """Adds the array of sums at `base` to the one at `into`."""
    for i, p in enumerate(partials):
        both = binary(w.f, w.target, p.op, p.wide, read(w, i, p, into), read(w, i, p, base))
        save(w, i, p, both, into)


def settle(w: Writer, partials: list[PartialSum], base: str, places: Mapping[MemoryKey, MemRef]) -> None:
    """Puts the whole sums of memories, at `base`, where they belong."""
    for i, p in enumerate(partials):
        if p.memory is not None:
            place = places[p.memory.key]
            at = element(w, place, clamped(w, place, tuple(w.exact(a) for a in p.index)))
            put(w, place, at, _joined(w, p, fetch(w, place, at), read(w, i, p, base)))


def results(w: Writer, loop: For, partials: list[PartialSum], base: str) -> tuple[str, ...]:
    """What the carried values are after the loop."""
    pairs = enumerate(zip(partials, loop.init, strict=False))
    carried = [(i, p, a) for i, (p, a) in pairs if p.memory is None]
    return tuple(_joined(w, p, w.value(a), read(w, i, p, base)) for i, p, a in carried)


def _joined(w: Writer, p: PartialSum, before: str, total: str) -> str:
    wide = cast(w.f, before, p.type, p.wide)
    return cast(w.f, binary(w.f, w.target, p.op, p.wide, wide, total), p.wide, p.type)
