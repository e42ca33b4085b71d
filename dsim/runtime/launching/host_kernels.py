"""Python's operations on fields and elements, as forms: put, fill, copy, add.

Outside every context these run in NumPy. Inside one they are launches like any other, with a kernel to
differentiate, so a tape or a forward mode needs no rule of its own for them.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from dsim.ir import sites
from dsim.ir.build import Builder, Names, index
from dsim.ir.nodes import Accumulate, Atom, Block, Const, For, KernelIR, Load, Memory, MemoryKey, Store, Var
from dsim.ir.types import i32
from dsim.runtime.driver import pipeline
from dsim.runtime.driver.programs import Program
from dsim.runtime.fields.components import Component
from dsim.runtime.fields.fields import Field, youngest
from dsim.runtime.fields.whole_memory import put
from dsim.runtime.launching.access_regions import Reach
from dsim.runtime.launching.forms import Form
from dsim.runtime.state.once import kept, once
from dsim.runtime.state.settings import current

Index = tuple[Atom, ...]
Parts = tuple[tuple[int, ...], ...]  # of each field the number of every entry that it is about; () for all
Operand = Field | Component

# Programs by operation, memories and settings, with their derivatives: they know no fields, so all arrays of
# one type and shape share them; a field keeps its forms itself (`Storage.operations`). The oldest of more
# than 512 goes.
_PROGRAMS: OrderedDict[Any, Program] = OrderedDict()
_MOST_PROGRAMS = 512


class HostForm(Form):
    """A form that NumPy executes, and whose kernel exists only to be differentiated.

    Operations of one kind on fields of the same types and shapes share that kernel and its derivatives.
    """

    from_python = True

    def __init__(
        self, field: Field, others: tuple[Field, ...], numpy: Callable[..., None], parts: Parts = ()
    ) -> None:
        self._target = field
        names: dict[Field, str] = {}
        self._memories: dict[Field, Memory] = {}
        for f in (field, *others):
            name = names.setdefault(f.root, f"field_{len(names)}" if names else "field")
            self._memories[f] = Memory(name, f.dtype, f.full_shape, len(f.entry_shape), f.derivative)
        roots = {name: root for root, name in names.items()}
        memories = tuple(self._memories[f] for f in (field, *others))
        super().__init__(_program(type(self), parts, memories), roots, frozenset(roots))
        self.native = lambda *args: numpy(*args) or ()

    @once
    def floats(self) -> tuple[tuple[MemoryKey, Field], ...]:
        """The memories that can carry derivatives, with their fields."""
        return tuple((m.key, f) for f, m in self._memories.items() if m.type.is_float)

    def _written(self) -> tuple[Field, ...]:
        return (self._target,)

    @staticmethod
    def body(builder: Builder, parts: Parts, target: Memory, *others: Memory) -> tuple[Var, ...]:
        """Appends what the kernel does; gives its parameters."""
        raise NotImplementedError


def _program(kind: type[HostForm], parts: Parts, memories: tuple[Memory, ...]) -> Program:
    """The operation on any fields of such memories."""
    settings = current()

    def make() -> Program:
        while len(_PROGRAMS) >= _MOST_PROGRAMS:
            _PROGRAMS.popitem(last=False)
        unchecked = replace(settings, check_bounds=False)
        return Program(lambda: _kernel(kind, parts, memories), unchecked)

    return kept(_PROGRAMS, (kind, parts, memories, settings), make)


def _kernel(kind: type[HostForm], parts: Parts, memories: tuple[Memory, ...]) -> KernelIR:
    builder = Builder(Names(m.name for m in memories))
    params = kind.body(builder, parts, *memories)
    made = KernelIR(kind.__name__.lower(), params, tuple(dict.fromkeys(memories)), builder.close())
    return pipeline.derived(sites.number(made))


class Put(HostForm):
    """``field[i, …] = value``: one number; the parameters are the whole index and the value."""

    def __init__(self, field: Field) -> None:
        def numpy(*args: Any) -> None:
            field.require_memory()[args[:-1]] = args[-1]

        super().__init__(field, (), numpy)

    @staticmethod
    def body(builder: Builder, parts: Parts, target: Memory, *others: Memory) -> tuple[Var, ...]:
        """Appends what the kernel does; gives its parameters."""
        at = tuple(builder.fresh(f"i{axis}", i32) for axis in range(len(target.shape)))
        value = builder.fresh("value", target.type)
        builder.add(Store(target, at, value))
        return (*at, value)


class Fill(HostForm):
    """Every entry of the field becomes the numbers that are its parameters; of a component, one number."""

    def __init__(self, field: Operand) -> None:
        whole, part = field.whole, field.component

        def numpy(*values: Any) -> None:
            buffer = whole.require_memory()
            if len(values) == 1:
                buffer[(..., *part)] = values[0]
            else:
                buffer[...] = np.array(values, buffer.dtype).reshape(whole.entry_shape)

        super().__init__(whole, (), numpy, (part,))

    @staticmethod
    def body(builder: Builder, parts: Parts, target: Memory, *others: Memory) -> tuple[Var, ...]:
        """Appends what the kernel does; gives its parameters."""
        entry = target.shape[len(target.shape) - target.entry_axes :]
        (part,) = parts
        places = [part] if part or not entry else list(np.ndindex(*entry))  # type: ignore[arg-type]
        values = tuple(builder.fresh("value", target.type) for _ in places)

        def one(at: tuple[Atom, ...]) -> None:
            for place, value in zip(places, values, strict=True):
                builder.add(Store(target, (*at, *map(index, place)), value))

        over(builder, spans_of(target.shape[: len(target.shape) - target.entry_axes]), one)
        return values


class Copy(HostForm):
    """The field, or a component of it, becomes a copy of another one of the same shape."""

    def __init__(self, field: Operand, source: Operand) -> None:
        to, of = field.whole, source.whole
        into, out_of = (..., *field.component), (..., *source.component)

        def numpy() -> None:
            to.require_memory()[into] = of.require_memory()[out_of]

        super().__init__(to, (of,), numpy, (field.component, source.component))

    @staticmethod
    def body(builder: Builder, parts: Parts, target: Memory, *others: Memory) -> tuple[Var, ...]:
        """Appends what the kernel does; gives its parameters."""
        (source,) = others
        into, out_of = (tuple(map(index, part)) for part in parts)

        def one(at: tuple[Atom, ...]) -> None:
            value = builder.fresh("value", source.type)
            builder.add(Load(value, source, (*at, *out_of)))
            builder.add(Store(target, (*at, *into), builder.let("cast", value, type=target.type)))

        over(builder, spans_of(target.shape[: len(target.shape) - len(into)]), one)
        return ()


class Add(HostForm):
    """Another field of the same shape and type is added to the field."""

    def __init__(self, field: Field, other: Field) -> None:
        def numpy() -> None:
            buffer = field.require_memory()
            np.add(buffer, other.require_memory(), out=buffer)

        super().__init__(field, (other,), numpy)

    @staticmethod
    def body(builder: Builder, parts: Parts, target: Memory, *others: Memory) -> tuple[Var, ...]:
        """Appends what the kernel does; gives its parameters."""
        (other,) = others

        def one(at: tuple[Atom, ...]) -> None:
            value = builder.fresh("value", other.type)
            builder.add(Load(value, other, at))
            builder.add(Accumulate(target, at, value))

        over(builder, spans_of(target.shape), one)
        return ()


def _each(builder: Builder, axes: int, one: Callable[[Index, Index], None]) -> tuple[Var, ...]:
    """Appends what `one` does for each index of a region, behind a slot's number and by itself.

    Gives the parameters: the slot, and from and to before which index the region goes, axis by axis.
    """
    number = builder.fresh("slot", i32)
    ends = [(builder.fresh(f"low{axis}", i32), builder.fresh(f"high{axis}", i32)) for axis in range(axes)]
    over(builder, ends, lambda at: one((number, *at), at))
    return (number, *(e for pair in ends for e in pair))


def copied(builder: Builder, target: Memory, at: Index, source: Memory, source_at: Index) -> None:
    """Appends ``target[at] = source[source_at]``."""
    value = builder.fresh("value", source.type)
    builder.add(Load(value, source, source_at))
    builder.add(Store(target, at, value))


class Stow(HostForm):
    """A slot of `field`, which has one more axis in front, becomes a copy of a region of `source`."""

    def __init__(self, field: Field, source: Field) -> None:
        def numpy(slot: int, *ends: int) -> None:
            region = _region(ends)
            put(field.require_memory(), (slot, *region), source.require_memory()[region])

        super().__init__(field, (source,), numpy)

    @staticmethod
    def body(builder: Builder, parts: Parts, target: Memory, *others: Memory) -> tuple[Var, ...]:
        """Appends what the kernel does; gives its parameters."""
        (source,) = others

        def one(wide: Index, at: Index) -> None:
            copied(builder, target, wide, source, at)

        return _each(builder, len(source.shape), one)


class Unstow(HostForm):
    """A region of `field` becomes what a slot of `source` holds."""

    def __init__(self, field: Field, source: Field) -> None:
        def numpy(slot: int, *ends: int) -> None:
            region = _region(ends)
            put(field.require_memory(), region, source.require_memory()[(slot, *region)])

        super().__init__(field, (source,), numpy)

    @staticmethod
    def body(builder: Builder, parts: Parts, target: Memory, *others: Memory) -> tuple[Var, ...]:
        """Appends what the kernel does; gives its parameters."""
        (source,) = others

        def one(wide: Index, at: Index) -> None:
            copied(builder, target, at, source, wide)

        return _each(builder, len(target.shape), one)


def _region(ends: tuple[int, ...]) -> tuple[slice, ...]:
    return tuple(slice(low, high) for low, high in zip(ends[::2], ends[1::2], strict=True))


class Stop(HostForm):
    """The field keeps its numbers, which become constants."""

    def __init__(self, field: Field) -> None:
        super().__init__(field, (), lambda: None)

    @once
    def writes(self) -> Reach:
        """Nothing: the numbers stay."""
        return Reach(self.program, self.fields, frozenset())

    @staticmethod
    def body(builder: Builder, parts: Parts, target: Memory, *others: Memory) -> tuple[Var, ...]:
        """Appends what the kernel does; gives its parameters."""

        def one(at: tuple[Atom, ...]) -> None:
            value = builder.fresh("value", target.type)
            builder.add(Load(value, target, at))
            builder.add(Store(target, at, builder.let("stop", value)))

        over(builder, spans_of(target.shape), one)
        return ()


def over(
    builder: Builder, spans: Sequence[tuple[Atom, Atom]], one: Callable[[tuple[Atom, ...]], None]
) -> None:
    """Appends nested loops over `spans` around what `one` appends for an index."""

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


def spans_of(shape: tuple[int | None, ...]) -> list[tuple[Atom, Atom]]:
    """The spans of all indices of a shape."""
    return [(index(0), Const(n, i32)) for n in shape if n is not None]


def form(kind: type[Any], field: Operand, *others: Operand) -> Any:
    """The operation `kind` on `field`: one form each, kept with the youngest of the fields."""
    key = (kind, field, *others)
    operations = (youngest(key[1:]) if others else field).operations
    return kept(operations, key, lambda: kind(field, *others))
