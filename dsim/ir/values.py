"""What statements are about: values, memories, and where in a person's program they come from."""

from __future__ import annotations

from dataclasses import dataclass

from dsim.diagnostics import Span
from dsim.ir.types import ScalarType

MemoryKey = tuple[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a statement comes from.

    The person's text, the calls it was inlined through (outermost first), and the transforms that made
    it (``forward``, ``reverse``; the last one last).
    """

    span: Span | None = None
    inlined: tuple[Span, ...] = ()
    transforms: tuple[str, ...] = ()


NOWHERE = Origin()


@dataclass(frozen=True, slots=True)
class Var:
    """A value: bound once, never changed."""

    name: str
    type: ScalarType

    def __hash__(self) -> int:
        return hash(self.name)  # unique in a kernel, and a string remembers its hash


@dataclass(frozen=True, slots=True)
class Const:
    """A number known at compile time; `value` is a Python int, float or bool in the type's range."""

    value: int | float | bool
    type: ScalarType


Atom = Var | Const


@dataclass(frozen=True, slots=True)
class Memory:
    """Storage that a kernel reads and writes by index.

    `name` is unique in a kernel and, for a field, the key by which the runtime finds its buffer.
    `derivative` tells which companion of it is meant, outermost last: ``()`` the primal values,
    ``("bar",)`` their adjoint (``x.grad``), ``("dot",)`` their tangent (``x.dual``),
    ``("bar", "dot")`` the tangent of the adjoint (``x.grad.dual``).
    `shape` counts a vector's or matrix's axes too: the last `entry_axes` of them. ``None`` is a
    length known at run time (only of a private buffer; its `Alloc` says it).
    `private` memories belong to one run of the block that allocates them.
    """

    name: str
    type: ScalarType
    shape: tuple[int | None, ...]
    entry_axes: int = 0
    derivative: tuple[str, ...] = ()
    private: bool = False

    def __hash__(self) -> int:
        return hash(self.name)

    @property
    def key(self) -> MemoryKey:
        """What the runtime binds a buffer to, and what activity is asked of."""
        return (self.name, self.derivative)
