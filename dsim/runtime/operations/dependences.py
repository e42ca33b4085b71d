"""The kernel that stands for a host operation in analyses: it reads and writes what the operation does.

Each number that it writes depends on each number that it reads. It never runs and is never differentiated:
contexts ask it what is read, written, and active.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple, NoReturn

from dsim.diagnostics import Span
from dsim.ir import sites
from dsim.ir.build import Builder, Names, index
from dsim.ir.nodes import Atom, Block, Const, For, KernelIR, Load, Memory, Origin, Store
from dsim.ir.types import f64, i32
from dsim.runtime.driver.programs import Keys, Program
from dsim.runtime.fields.fields import Field
from dsim.runtime.launching.host_kernels import over, spans_of
from dsim.runtime.state.settings import Settings, current


class Step(NamedTuple):
    """A part of an operation: what it reads, and then writes; whether the results count as constants."""

    reads: tuple[Field, ...]
    writes: tuple[Field, ...]
    constant: bool


class Dependences(Program):
    """The program of a host operation: facts only."""

    def __init__(self, name: str, span: Span | None, memories: dict[Field, Memory], steps: Sequence[Step]):
        super().__init__(lambda: _kernel(name, span, memories, steps), current())

    def _derived(self, kernel: KernelIR, settings: Settings | None = None) -> NoReturn:
        raise AssertionError("a host operation is differentiated by its rules")

    def _parts(self, cuts: frozenset[int]) -> NoReturn:
        self._derived(self.kernel)

    def _reverse(self, active: Keys, label: str, entry: Keys) -> NoReturn:
        self._derived(self.kernel)


def memories_of(fields: Iterable[Field]) -> dict[Field, Memory]:
    """A memory for each field; those of one root share a name."""
    names = Names()
    roots: dict[Field, str] = {}
    found: dict[Field, Memory] = {}
    for f in fields:
        if f not in found:
            if f.root not in roots:
                roots[f.root] = names.fresh(f.root.given_name or "operand")
            found[f] = Memory(roots[f.root], f.dtype, f.full_shape, len(f.entry_shape), f.derivative)
    return found


def _kernel(name: str, span: Span | None, memories: dict[Field, Memory], steps: Sequence[Step]) -> KernelIR:
    builder = Builder(Names(m.name for m in memories.values()))
    origin = Origin(span)
    for step in steps:
        total: Atom = Const(0.0, f64)
        for f in dict.fromkeys(step.reads):
            total = _sum(builder, memories[f], total, (), origin)
        if step.constant:
            total = builder.let("stop", total)
        for f in step.writes:
            _store(builder, memories[f], total, origin)
    return sites.number(KernelIR(name, (), tuple(memories.values()), builder.close(), origin=origin))


def _sum(builder: Builder, memory: Memory, total: Atom, at: tuple[Atom, ...], origin: Origin) -> Atom:
    """Appends loops that add all numbers of `memory` to `total`; gives the sum."""
    if len(at) == len(memory.shape):
        value = builder.fresh("value", memory.type)
        builder.add(Load(value, memory, at, origin))
        return builder.let("add", total, builder.let("cast", value, type=f64))
    counter, before = builder.fresh("i", i32), builder.fresh("total", f64)
    after = builder.fresh("total", f64)
    with builder.block() as inner:
        result = _sum(builder, memory, before, (*at, counter), origin)
    body = Block(tuple(inner), (result,))
    _, length = spans_of(memory.shape)[len(at)]
    builder.add(For(counter, index(0), length, 1, body, (before,), (total,), (after,)))
    return after


def _store(builder: Builder, memory: Memory, total: Atom, origin: Origin) -> None:
    value = builder.let("cast", total, type=memory.type)
    over(builder, spans_of(memory.shape), lambda at: builder.add(Store(memory, at, value, origin)))
