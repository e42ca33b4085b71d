"""Sorting and prefix sums along an axis, as forms that contexts differentiate."""

from __future__ import annotations

import numpy as np

from dsim.ir.build import Builder, index
from dsim.ir.nodes import Accumulate, Atom, Load, Memory, Store, Var
from dsim.ir.types import i32
from dsim.runtime.fields.fields import Field, zeros_like
from dsim.runtime.launching.host_kernels import HostForm, Parts, form, over, spans_of
from dsim.runtime.state.stack import opened


class Permute(HostForm):
    """Element `i` of the field becomes element ``order[i]`` of `source`."""

    def __init__(self, field: Field, source: Field, order: Field) -> None:
        def numpy() -> None:
            np.take(source.require_memory(), order.require_memory(), 0, out=field.require_memory())

        super().__init__(field, (source, order), numpy)

    @staticmethod
    def body(builder: Builder, parts: Parts, target: Memory, *others: Memory) -> tuple[Var, ...]:
        """Appends what the kernel does; gives its parameters."""
        source, order = others

        def one(at: tuple[Atom, ...]) -> None:
            place, value = builder.fresh("place", order.type), builder.fresh("value", source.type)
            builder.add(Load(place, order, at))
            builder.add(Load(value, source, (place,)))
            builder.add(Store(target, at, value))

        over(builder, spans_of(target.shape), one)
        return ()


class PrefixSum(HostForm):
    """Each element of the field becomes the sum of those up to it."""

    def __init__(self, field: Field) -> None:
        def numpy() -> None:
            buffer = field.require_memory()
            np.cumsum(buffer, dtype=buffer.dtype, out=buffer)

        super().__init__(field, (), numpy)

    @staticmethod
    def body(builder: Builder, parts: Parts, target: Memory, *others: Memory) -> tuple[Var, ...]:
        """Appends what the kernel does; gives its parameters."""

        def one(at: tuple[Atom, ...]) -> None:
            value = builder.fresh("value", target.type)
            builder.add(Load(value, target, (builder.let("sub", *at, index(1)),)))
            builder.add(Accumulate(target, at, value))

        ((_, length),) = spans_of(target.shape)
        over(builder, [(index(1), length)], one)
        return ()


def sort(keys: Field, values: Field | None) -> None:
    """Sorts `keys`, and `values` along with them; equal keys keep their order.

    Contexts see that the numbers are permuted; how they are permuted counts as constant.
    """
    keys.looked_at()
    order = np.argsort(keys.require(), kind="stable")
    fields = (keys,) if values is None or values is keys else (keys, values)
    if not opened():
        for field in fields:
            field.from_numpy(field.require()[order])
        return
    places = Field(i32, (), "order")  # of its own for each call: adjoints read it
    places.allocate(keys.shape)
    places.require()[...] = order
    for field in fields:
        before = _unsorted(field)
        opened()[-1].copied(before, field)
        opened()[-1].python_writes(Permute(field, before, places), ())


def _unsorted(field: Field) -> Field:
    """A field for what `field` holds before it is sorted: the same each time, for no adjoint reads it."""
    found = field.operations.get("unsorted")
    if found is None:
        found = field.operations["unsorted"] = zeros_like(field, "unsorted")
    return found


def prefix_sum(field: Field) -> None:
    """Replaces the numbers of `field` by their sums from the first one on."""
    if opened():
        opened()[-1].python_writes(form(PrefixSum, field), ())
    else:
        numbers = field.require()
        np.cumsum(numbers, dtype=numbers.dtype, out=numbers)
        field.written_by_python()
