"""Operands of statements: values and memories; and the origins of statements in a person's program."""

from __future__ import annotations

from dsim.diagnostics import Span
from dsim.ir.types import ScalarType
from dsim.records import record

MemoryKey = tuple[str, tuple[str, ...]]


@record
class Origin:
    """Where a statement comes from.

    The location in the person's source, the calls it was inlined through (outermost first), and the
    transforms that made it (``forward``, ``reverse``; the last one last).
    """

    span: Span | None = None
    inlined: tuple[Span, ...] = ()
    transforms: tuple[str, ...] = ()


NOWHERE = Origin()


@record
class Var:
    """A variable: bound once, immutable."""

    name: str
    type: ScalarType

    def __hash__(self) -> int:
        return hash(self.name)  # unique in a kernel, and a string caches its hash


@record
class Const:
    """A number known at compile time; `value` is a Python int, float or bool in the type's range."""

    value: int | float | bool
    type: ScalarType


Atom = Var | Const


@record
class Memory:
    """Storage that a kernel reads and writes by index.

    `name` is unique in a kernel and, for a field, the key by which the runtime finds its buffer.
    `derivative` says which companion of the field it is, outermost last: ``()`` the primal values,
    ``("bar",)`` their adjoint (``x.grad``), ``("dot",)`` their tangent (``x.dual``),
    ``("bar", "dot")`` the tangent of the adjoint (``x.grad.dual``).
    `shape` includes the axes of a vector or matrix: the last `entry_axes` of it. ``None`` is a length known
    only at run time (in private buffers; the `Alloc` gives it).
    A `private` memory exists during one run of the block that allocates it.
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
        """The key by which the runtime binds buffers and activity analysis names memories."""
        return (self.name, self.derivative)
