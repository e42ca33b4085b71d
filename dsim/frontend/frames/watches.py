"""Probes of a watched kernel: each value that a line assigns, and the indices of the outermost loops.

A float is copied first, and the copy is what the local holds: its adjoint is then that of this assignment
alone. Without `Settings.watch` nothing here does anything.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from dsim.diagnostics import Span
from dsim.frontend.source.lowered import BirthSlot, KinkSlot, WatchSlot
from dsim.frontend.values.structure import rebuilt, scalars
from dsim.frontend.values.values import Element, Mat, RecordValue, StructValue, Value, is_scalar
from dsim.ir.build import Builder
from dsim.ir.nodes import AccumulateOp, Atom, Block, Const, Let, Memory, Probe, Var
from dsim.ir.probe_buffer import WIDTH
from dsim.ir.types import ScalarType, f64
from dsim.ir.walk import statements, with_blocks

_LONGEST = 40  # of a name


@dataclass
class Watches:
    """The slots of one kernel; `at` are the indices of the outermost loops around the current place."""

    slots: dict[tuple[object, ...], WatchSlot] = field(default_factory=dict)
    kinks: dict[tuple[object, ...], KinkSlot] = field(default_factory=dict)
    births: dict[tuple[object, ...], BirthSlot] = field(default_factory=dict)
    rows: int = 1  # the first one selects the iteration
    paused: int = 0
    at: tuple[Atom, ...] = ()

    @contextmanager
    def pause(self) -> Iterator[None]:
        """Within it, no probes are emitted: a function that is differentiated may not contain any."""
        self.paused += 1
        try:
            yield
        finally:
            self.paused -= 1

    def slot(
        self,
        name: str,
        span: Span,
        shape: tuple[int, ...],
        type: ScalarType,
        axes: int,
        axis: int | None = None,
        op: AccumulateOp | None = None,
    ) -> WatchSlot:
        """The slot of an assignment; the same one each time that its line is lowered."""
        key = (name, span.source.file, span.line, span.column, shape, type.name, axes, axis, op)
        found = self.slots.get(key)
        if found is None:
            found = self.slots[key] = WatchSlot(name, span, shape, type, self.rows, axes, axis, op)
            self.rows += found.size
        return found

    def placed(self, body: Block, name: str) -> tuple[Block, Memory]:
        """`body` with its probes on a memory called `name`, and that memory."""
        watches = sum(isinstance(s, Probe) for s in statements(body))
        shown = Memory(name, f64, (self.rows + watches, WIDTH))
        return _on(body, shown, itertools.count(self.rows)), shown

    def kink(
        self, op: str, span: Span, calls: tuple[Span, ...], loops: tuple[str, ...], of_many: bool
    ) -> KinkSlot:
        """The slot of a primitive with kinks; one for all its copies that come from one place."""
        where = span.source.file, span.line, span.column, span.end_line, span.end_column
        key = (op, *where, calls, loops, of_many)
        found = self.kinks.get(key)
        if found is None:
            found = self.kinks[key] = KinkSlot(op, span, calls, self.rows, loops, of_many)
            self.rows += 1
        return found

    def birth(self, span: Span, calls: tuple[Span, ...]) -> BirthSlot:
        """The slot of a primitive of floats; one for all its copies that come from one place."""
        key = (span.source.file, span.line, span.column, span.end_line, span.end_column, calls)
        found = self.births.get(key)
        if found is None:
            found = self.births[key] = BirthSlot(span, calls, self.rows)
            self.rows += 1
        return found


class Shows:
    """Emits probes at the current place of a kernel that is being lowered.

    Parameters
    ----------
    watches : Watches
        Where slots come from.
    builder : Builder
        Where statements go.
    """

    def __init__(self, watches: Watches, builder: Builder) -> None:
        self._watches = watches
        self._builder = builder

    def value(self, name: str, value: Value, span: Span) -> Value:
        """`value`, probed under `name`; of a struct, member by member."""
        if isinstance(value, StructValue):
            members = {key: self.value(f"{name}.{key}", v, span) for key, v in value.members.items()}
            return StructValue(members, value.kind)
        if isinstance(value, RecordValue):
            members = {key: self.value(f"{name}.{key}", v, span) for key, v in value.members.items()}
            return RecordValue(value.kind, value.name, members, value.after)
        if not (is_scalar(value) or isinstance(value, Mat)):
            return value
        atoms = [a for a in scalars(value) if isinstance(a, Var | Const)]
        if len(atoms) < len(scalars(value)):
            return value  # Python numbers still, of no type
        shape = value.shape if isinstance(value, Mat) else ()
        return rebuilt(value, iter(self.atoms(name, atoms, shape, span)))

    def stored(
        self,
        name: str,
        atoms: Sequence[Atom],
        x: Element,
        span: Span | None,
        op: AccumulateOp | None = None,
        target: Span | None = None,
    ) -> list[Atom]:
        """`atoms`, probed as the values stored to the entries of the element `x`, or accumulated by `op`.

        They are called by the text at `target`, or at `span`.
        """
        if span is None:
            return list(atoms)
        called = target or span
        text = called.text if called.line == called.end_line else ""
        entries = x.shape if len(atoms) > 1 else ()
        return self.atoms(text if 0 < len(text) <= _LONGEST else f"{name}[…]", atoms, entries, span, op)

    def index(self, name: str, at: Atom, axis: int, span: Span) -> None:
        """The index of an outermost loop."""
        self._add(self._watches.slot(name, span, (), at.type, len(self._watches.at), axis).row, at)

    def atoms(
        self,
        name: str,
        atoms: Sequence[Atom],
        shape: tuple[int, ...],
        span: Span,
        op: AccumulateOp | None = None,
    ) -> list[Atom]:
        """`atoms`, probed as the entries of `name`; floats become copies."""
        slot = self._watches.slot(name, span, shape, atoms[0].type, len(self._watches.at), op=op)
        shown: list[Atom] = []
        for row, a in enumerate(atoms, slot.row):
            shown.append(self._copy(a, name) if a.type.is_float else a)
            self._add(row, shown[-1])
        return shown

    def _copy(self, a: Atom, name: str) -> Var:
        copy = self._builder.fresh(a.name if isinstance(a, Var) else name, a.type)
        self._builder.add(Let(copy, "copy", (a,), self._builder.origin))
        return copy

    def _add(self, row: int, value: Atom) -> None:
        memory = Memory("", f64, ())  # `placed` when all rows are known
        self._builder.add(Probe(memory, row, value, self._watches.at, origin=self._builder.origin))


def _on(block: Block, memory: Memory, rows: Iterator[int]) -> Block:
    """`block`, with its probes bound to `memory`, each counting in one of `rows`."""

    def change(inner: Block) -> Block:
        return _on(inner, memory, rows)

    return Block(
        tuple(
            replace(s, memory=memory, own=next(rows)) if isinstance(s, Probe) else with_blocks(s, change)
            for s in block.statements
        ),
        block.yields,
    )
