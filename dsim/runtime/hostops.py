"""What Python does to whole fields and elements, as forms: put, fill, copy, add.

Outside every context these run in NumPy. Inside one they are launches like any other, with a kernel to
differentiate, so a tape or a forward mode needs no rule of its own for them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from dsim.ir import sites
from dsim.ir.build import Builder, Names, index
from dsim.ir.nodes import Accumulate, Atom, Block, Const, For, Kernel, Load, Memory, Store, Var
from dsim.ir.types import i32
from dsim.runtime import pipeline
from dsim.runtime.fields import Field, youngest
from dsim.runtime.forms import Form
from dsim.runtime.reach import Reach
from dsim.runtime.settings import current


class HostForm(Form):
    """A form that NumPy carries out, and whose kernel is made only to be derived."""

    from_python = True

    def __init__(self, field: Field, others: tuple[Field, ...], numpy: Callable[..., None]) -> None:
        self._target = field
        self._others = others
        names = Names()
        roots: dict[str, Field] = {}
        self._memories: dict[Field, Memory] = {}
        known: dict[Field, str] = {}
        for f in (field, *others):
            name = known.get(f.root) or names.fresh(f.root.given_name or "field")
            known[f.root], roots[name] = name, f.root
            self._memories[f] = Memory(name, f.dtype, f.full_shape, len(f.entry_shape), f.derivative)
        super().__init__(self._made, roots, current().backend, False)
        self.native = lambda *args: numpy(*args) or ()

    def _made(self) -> Kernel:
        """What it does, as a kernel."""
        builder = Builder(Names(m.name for m in self._memories.values()))
        params = self._body(builder, self._memories[self._target])
        memories = tuple(self._memories[f] for f in (self._target, *self._others))
        made = Kernel(type(self).__name__.lower(), params, memories, builder.close())
        return pipeline.derived(sites.number(made))

    @cached_property
    def floats(self) -> tuple[tuple[Memory, Field], ...]:
        """The memories that can carry derivatives, with their fields."""
        return tuple((m, f) for f, m in self._memories.items() if m.type.is_float)

    @cached_property
    def written(self) -> tuple[Field, ...]:
        """The field that it changes."""
        return (self._target,)

    def _body(self, builder: Builder, target: Memory) -> tuple[Var, ...]:
        """Appends what the kernel does; gives its parameters."""
        raise TypeError(f"{type(self).__name__} has no kernel")


class Put(HostForm):
    """``field[i, …] = value``: one number; the parameters are the whole index and the value."""

    def __init__(self, field: Field) -> None:
        def numpy(*args: Any) -> None:
            field.require_memory()[args[:-1]] = args[-1]

        super().__init__(field, (), numpy)

    def _body(self, builder: Builder, target: Memory) -> tuple[Var, ...]:
        at = tuple(builder.fresh(f"i{axis}", i32) for axis in range(len(target.shape)))
        value = builder.fresh("value", target.type)
        builder.add(Store(target, at, value))
        return (*at, value)


class Fill(HostForm):
    """Every entry of the field becomes the numbers that are its parameters."""

    def __init__(self, field: Field) -> None:
        def numpy(*values: Any) -> None:
            buffer = field.require_memory()
            if len(values) == 1:
                buffer.fill(values[0])
            else:
                buffer[...] = np.array(values, buffer.dtype).reshape(field.entry_shape)

        super().__init__(field, (), numpy)

    def _body(self, builder: Builder, target: Memory) -> tuple[Var, ...]:
        entry = target.shape[len(target.shape) - target.entry_axes :]
        places = list(np.ndindex(*entry)) if entry else [()]  # type: ignore[arg-type]
        values = tuple(builder.fresh("value", target.type) for _ in places)

        def one(at: tuple[Atom, ...]) -> None:
            for place, value in zip(places, values, strict=True):
                builder.add(Store(target, (*at, *map(index, place)), value))

        _over(builder, _whole(target.shape[: len(target.shape) - target.entry_axes]), one)
        return values


class Copy(HostForm):
    """The field becomes a copy of another one of the same shape."""

    def __init__(self, field: Field, source: Field) -> None:
        def numpy() -> None:
            field.require_memory()[...] = source.require_memory()

        super().__init__(field, (source,), numpy)

    def _body(self, builder: Builder, target: Memory) -> tuple[Var, ...]:
        source = self._memories[self._others[0]]

        def one(at: tuple[Atom, ...]) -> None:
            value = builder.fresh("value", source.type)
            builder.add(Load(value, source, at))
            builder.add(Store(target, at, builder.let("cast", value, type=target.type)))

        _over(builder, _whole(target.shape), one)
        return ()


class Add(HostForm):
    """Another field of the same shape and type is added to the field."""

    def __init__(self, field: Field, other: Field) -> None:
        def numpy() -> None:
            buffer = field.require_memory()
            np.add(buffer, other.require_memory(), out=buffer)

        super().__init__(field, (other,), numpy)

    def _body(self, builder: Builder, target: Memory) -> tuple[Var, ...]:
        other = self._memories[self._others[0]]

        def one(at: tuple[Atom, ...]) -> None:
            value = builder.fresh("value", other.type)
            builder.add(Load(value, other, at))
            builder.add(Accumulate(target, at, value))

        _over(builder, _whole(target.shape), one)
        return ()


class _Slot(HostForm):
    """Copies a region between a field and one slot of a field with one more axis in front.

    The parameters are the slot, and from and to before which index it goes, axis by axis.
    """

    def _region(
        self, builder: Builder, target: Memory, one: Callable[[tuple[Atom, ...], tuple[Atom, ...]], None]
    ) -> tuple[Var, ...]:
        """Appends what `one` does for each index of the region, with and without the slot."""
        axes = len(next(m for f, m in self._memories.items() if f is self._narrow).shape)
        slot = builder.fresh("slot", i32)
        ends = [(builder.fresh(f"low{axis}", i32), builder.fresh(f"high{axis}", i32)) for axis in range(axes)]
        _over(builder, ends, lambda at: one((slot, *at), at))
        return (slot, *(e for pair in ends for e in pair))

    @property
    def _narrow(self) -> Field:
        """The one without slots."""
        return min((self._target, *self._others), key=lambda f: len(f.shape))

    def _copied(self, builder: Builder, target: Memory, at: Any, source: Memory, source_at: Any) -> None:
        value = builder.fresh("value", source.type)
        builder.add(Load(value, source, source_at))
        builder.add(Store(target, at, value))


class Stow(_Slot):
    """A slot of `field` becomes a copy of a region of `source`."""

    def __init__(self, field: Field, source: Field) -> None:
        def numpy(slot: int, *ends: int) -> None:
            region = _region(ends)
            field.require_memory()[(slot, *region)] = source.require_memory()[region]

        super().__init__(field, (source,), numpy)

    def _body(self, builder: Builder, target: Memory) -> tuple[Var, ...]:
        source = self._memories[self._others[0]]
        return self._region(builder, target, lambda wide, at: self._copied(builder, target, wide, source, at))


class Unstow(_Slot):
    """A region of `field` becomes what a slot of `source` holds."""

    def __init__(self, field: Field, source: Field) -> None:
        def numpy(slot: int, *ends: int) -> None:
            region = _region(ends)
            field.require_memory()[region] = source.require_memory()[(slot, *region)]

        super().__init__(field, (source,), numpy)

    def _body(self, builder: Builder, target: Memory) -> tuple[Var, ...]:
        source = self._memories[self._others[0]]
        return self._region(builder, target, lambda wide, at: self._copied(builder, target, at, source, wide))


def _region(ends: tuple[int, ...]) -> tuple[slice, ...]:
    return tuple(slice(low, high) for low, high in zip(ends[::2], ends[1::2], strict=True))


class Stop(HostForm):
    """The field keeps its numbers, which from then on depend on nothing."""

    def __init__(self, field: Field) -> None:
        super().__init__(field, (), lambda: None)

    @cached_property
    def writes(self) -> Reach:
        """Nothing: the numbers stay."""
        return Reach(self, frozenset())

    def _body(self, builder: Builder, target: Memory) -> tuple[Var, ...]:
        def one(at: tuple[Atom, ...]) -> None:
            value = builder.fresh("value", target.type)
            builder.add(Load(value, target, at))
            builder.add(Store(target, at, builder.let("stop", value)))

        _over(builder, _whole(target.shape), one)
        return ()


def _over(
    builder: Builder, spans: Sequence[tuple[Atom, Atom]], one: Callable[[tuple[Atom, ...]], None]
) -> None:
    """Nested loops over `spans` around what `one` appends for an index."""

    def nest(at: tuple[Atom, ...]) -> None:
        if len(at) == len(spans):
            one(at)
            return
        low, high = spans[len(at)]
        counter = builder.fresh(f"i{len(at)}", i32)
        with builder.block() as inner:
            nest((*at, counter))
        builder.add(For(counter, low, high, 1, Block(tuple(inner))))

    nest(())


def _whole(shape: tuple[int | None, ...]) -> list[tuple[Atom, Atom]]:
    return [(index(0), Const(n, i32)) for n in shape if n is not None]


def form(kind: type[Any], field: Field, *others: Field) -> Any:
    """The operation `kind` on `field`: one form each, kept with the youngest of the fields."""
    key = (kind, field, *others)
    operations = (youngest(key[1:]) if others else field).operations
    found = operations.get(key)
    if found is None:
        found = operations[key] = kind(field, *others)
    return found
