"""Copies of selected elements between fields, as forms: see `host_kernels.py`."""

from __future__ import annotations

import numpy as np

from dsim.ir.build import Builder, index
from dsim.ir.nodes import Block, Const, If, Load, Memory, Var
from dsim.runtime.fields.fields import Field
from dsim.runtime.launching.host_kernels import HostForm, Index, Parts, copied, over, spans_of


class Take(HostForm):
    """Some elements of the field become elements of `source`: by rows of indices, in `to` and in `of`."""

    def __init__(self, field: Field, source: Field, to: Field, of: Field) -> None:
        def numpy() -> None:
            places, origins = (tuple(f.require_memory().T[: len(g.full_shape) or 1]) for f, g in rows)
            np.atleast_1d(field.require_memory())[places] = np.atleast_1d(source.require_memory())[origins]

        rows = ((to, field), (of, source))
        super().__init__(field, (source, to, of), numpy)

    @staticmethod
    def body(builder: Builder, parts: Parts, target: Memory, *others: Memory) -> tuple[Var, ...]:
        """Appends what the kernel does; gives its parameters."""
        source, to, of = others

        def one(row: Index) -> None:
            origin = _row(builder, of, row, len(source.shape))
            copied(builder, target, _row(builder, to, row, len(target.shape)), source, origin)

        over(builder, spans_of(to.shape[:1]), one)
        return ()


def _row(builder: Builder, memory: Memory, row: Index, length: int) -> Index:
    """The first numbers of a row of `memory`."""
    found = tuple(builder.fresh("at", memory.type) for _ in range(length))
    for axis, value in enumerate(found):
        builder.add(Load(value, memory, (*row, index(axis))))
    return found


class Renew(HostForm):
    """The field's elements become those of `given` where `changed` is not 0."""

    def __init__(self, field: Field, given: Field, changed: Field) -> None:
        def numpy() -> None:
            where = changed.require_memory().astype(bool)
            np.copyto(field.require_memory(), given.require_memory(), where=where)

        super().__init__(field, (given, changed), numpy)

    @staticmethod
    def body(builder: Builder, parts: Parts, target: Memory, *others: Memory) -> tuple[Var, ...]:
        """Appends what the kernel does; gives its parameters."""
        given, changed = others

        def one(at: Index) -> None:
            flag = builder.fresh("changed", changed.type)
            builder.add(Load(flag, changed, at))
            with builder.block() as inner:
                copied(builder, target, at, given, at)
            builder.add(If(builder.let("ne", flag, Const(0, changed.type)), Block(tuple(inner)), Block(())))

        over(builder, spans_of(target.shape), one)
        return ()
