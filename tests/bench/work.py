"""How much a program computes and moves, counted from its kernels' IR.

Operations are those on floating-point numbers, a root or a logarithm counting as one. Bytes are those of the
regions that each launch reads, and those that it writes: what is read again within a launch counts once, so
they are the least that must come from memory, or from a cache if all fits there.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from dsim.ad import Tape
from dsim.ir import ranges
from dsim.ir.nodes import Accumulate, Block, For, If, Let, Statement
from dsim.ir.walk import blocks
from dsim.runtime.launching.forms import Form
from dsim.runtime.launching.native_replay import NativeReplay

_NO_WORK = {"cast", "select", "bit_cast", "stop"}


class Work(NamedTuple):
    """What launches compute and move; `operations` is None where data decide how often a loop runs."""

    operations: int | None
    bytes: int


class _UnknownTripsError(Exception):
    """A loop whose trips are not known."""


def _operations(block: Block) -> int:
    return sum(map(_of_one, block.statements))


def _of_one(s: Statement) -> int:
    if isinstance(s, Let):
        return int(s.var.type.is_float and s.op not in _NO_WORK)
    if isinstance(s, Accumulate):
        return int(s.memory.type.is_float)
    if isinstance(s, If):
        return max(_operations(s.then), _operations(s.orelse))
    inside = sum(map(_operations, blocks(s)))
    if not inside:
        return 0
    trips = ranges.known_trips(s) if isinstance(s, For) else None
    if trips is None:
        raise _UnknownTripsError
    return trips * inside


def _of_launch(form: Form, args: tuple[Any, ...]) -> Work:
    moved = sum(
        math.prod(high - low for low, high in box) * field.dtype.bits // 8
        for reach in (form.loads, form.writes)
        for field, box in reach.of(args)
    )
    try:
        return Work(_operations(form.program.kernel.body), moved)
    except _UnknownTripsError:
        return Work(None, moved)


@contextmanager
def _launches() -> Iterator[list[tuple[Form, tuple[Any, ...]]]]:
    """All launches of kernels inside, those of tables too, which run one by one here."""
    found: list[tuple[Form, tuple[Any, ...]]] = []
    run, table = Form.run, NativeReplay.run

    def counted(self: Form, args: tuple[Any, ...]) -> tuple[Any, ...]:
        found.append((self, args))
        return run(self, args)

    def one_by_one(self: NativeReplay, rows: int = 0) -> None:
        for form, args in self.launches:
            form.run(args)

    Form.run, NativeReplay.run = counted, one_by_one
    try:
        yield found
    finally:
        Form.run, NativeReplay.run = run, table


def work(run: Callable[[], object], loss: Any) -> tuple[Work, Work]:
    """What the kernels compute and move that `run` launches, and those of its gradient with them."""
    with _launches() as found:
        with Tape(loss):
            run()
            forward = len(found)
        parts = [Work(0, 0) if form.from_python else _of_launch(form, args) for form, args in found]
    return _sum(parts[:forward]), _sum(parts)


def needed(run: Callable[[], object], loss: Any) -> int:
    """The bytes of the fields that `run` reads or writes, and of the adjoints of those that have one."""
    with _launches() as found, Tape(loss):
        run()
    fields = {
        id(field): field
        for form, args in found
        for reach in (form.loads, form.writes)
        for field, _ in reach.of(args)
    }
    return sum(math.prod(f.array.shape) * f.dtype.bits // 8 for f in fields.values())


def _sum(parts: list[Work]) -> Work:
    known = [p.operations for p in parts]
    total = None if None in known else sum(n for n in known if n is not None)
    return Work(total, sum(p.bytes for p in parts))
