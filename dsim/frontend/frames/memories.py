"""Which memories a kernel touches: fields by name, and private buffers."""

from __future__ import annotations

from dsim.frontend.source.captures import FieldLike
from dsim.frontend.values.emit import Emitter
from dsim.frontend.values.values import Element, FieldValue, Shape, positions
from dsim.ir.build import index
from dsim.ir.nodes import Alloc, Atom, Memory
from dsim.ir.types import ScalarType


class Memories:
    """The memories of one kernel, in order of first use.

    Attributes
    ----------
    fields : dict
        Memory name to root field.
    called : dict
        Memory name to the user's name of the field: ``particles.pos``.
    used : dict
        The memories that were touched.
    """

    def __init__(self, emit: Emitter) -> None:
        self._emit = emit
        self.fields: dict[str, FieldLike] = {}
        self.called: dict[str, str] = {}
        self.used: dict[Memory, None] = {}
        self._names: dict[int, str] = {}

    def of(self, field: FieldValue) -> Memory:
        """The memory of `field`."""
        host = field.field.whole
        root = host.root
        if id(root) not in self._names:
            self._names[id(root)] = self._emit.builder.names.fresh(field.name)
            self.fields[self._names[id(root)]] = root
            self.called[self._names[id(root)]] = field.name
        entry = tuple(host.entry_shape)
        name, derivative = self._names[id(root)], tuple(host.derivative)
        memory = Memory(name, host.dtype, (*host.shape, *entry), len(entry), derivative)
        self.used.setdefault(memory)
        return memory

    def element(self, field: FieldValue, at: tuple[Atom, ...]) -> Element:
        """The element of `field` at `at`, which counts from 0."""
        if field.field.component:
            return Element(self.of(field), at, (), (tuple(map(index, field.field.component)),))
        return whole(self.of(field), at, tuple(field.field.entry_shape), field.clamped)

    def buffer(self, name: str, type: ScalarType, shape: Shape) -> Element:
        """A new private memory, all of it."""
        builder = self._emit.builder
        memory = Memory(builder.names.fresh(name), type, shape, len(shape), private=True)
        builder.add(Alloc(memory, tuple(index(n) for n in shape), builder.origin))
        return whole(memory, (), shape)


def whole(memory: Memory, at: tuple, shape: Shape, clamped: bool = False) -> Element:
    """All entries of the element `at` of `memory`."""
    return Element(memory, at, shape, tuple(tuple(map(index, p)) for p in positions(shape)), clamped)
