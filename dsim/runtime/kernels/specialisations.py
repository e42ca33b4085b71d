"""The kernels that a kernel is for the values of its parameters."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from dsim.runtime.fields.components import Component
from dsim.runtime.fields.fields import Field, youngest
from dsim.runtime.fields.storage import newest
from dsim.runtime.fields.struct_fields import StructField
from dsim.runtime.state.once import kept
from dsim.weak_mappings import WeakKeys, WeakValues


class Specialisations:
    """Kernels by the values for which they were made, and which they hold.

    Those for fields that are younger than this table are held by the youngest of these, as long as the table
    lives, and not by the table: a kernel of a module would otherwise keep alive all the fields that it was
    ever launched with. The others are held here: the kernel of a method, which leads to its owner, would
    otherwise live as long as fields that are older than the owner.
    """

    def __init__(self) -> None:
        self._age = newest()
        self._known: WeakValues[Any, Any] = WeakValues()
        self._own: list[Any] = []

    def get(self, key: Any) -> Any:
        """The kernel under `key`, or None."""
        return self._known.get(key)

    def kept(self, key: Any, values: Iterable[Any], make: Callable[[], Any]) -> Any:
        """The kernel under `key`, made for `values` by one thread if it is missing."""

        def held() -> Any:
            made = make()
            self._held_by(values).append(made)
            return made

        return kept(self._known, key, held)

    def _held_by(self, values: Iterable[Any]) -> list[Any]:
        """Where to hold a kernel for these values."""
        fields = [f for value in values for f in _fields(value)]
        holder = youngest(fields) if fields else None
        if holder is None or holder.number < self._age:
            return self._own
        if holder.kernels is None:
            holder.kernels = WeakKeys()
        return holder.kernels.setdefault(self, [])

    def all(self) -> list[Any]:
        """Those whose values are still there."""
        return self._known.living()


def _fields(value: Any) -> Iterator[Field]:
    """The field that a value is, or the fields of its items, components and members."""
    if isinstance(value, StructField):
        value = (*value.__dsim_struct_field__.values(),)
    if isinstance(value, tuple):
        for item in value:
            yield from _fields(item)
    elif isinstance(value, Component):
        yield from _fields(value.whole)
    elif isinstance(value, Field):
        yield value
