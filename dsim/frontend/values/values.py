"""What an expression stands for while a kernel is lowered.

A value is one of: a *scalar* (an atom of the IR, a Python number whose type is still open, or a
`Weak` number, which each launch passes), a `Mat` of scalars, a `StructValue` of named values, an
`Element` or `StructElement` (a place in memories, not loaded yet), a Python tuple or list of values, or
something known at compile time: a `FieldValue`, a `StructFieldValue`, an `Opaque` Python object, a string,
None, a range.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any

from dsim.frontend.source.captures import FieldLike, StructFieldLike
from dsim.frontend.source.launch_numbers import Weak
from dsim.frontend.source.paths import Path
from dsim.frontend.source.struct_types import StructTypeBase
from dsim.ir.nodes import Atom, Const, Memory, Var
from dsim.records import record

Scalar = Var | Const | int | float | bool | Weak
Shape = tuple[int, ...]


@record
class Mat:
    """A vector (one axis) or a matrix (two), entries in row order."""

    shape: Shape
    entries: tuple[Scalar, ...]

    def rows(self) -> tuple[Mat, ...]:
        """The rows of a matrix, as vectors."""
        width = self.shape[1]
        return tuple(Mat((width,), self.entries[i : i + width]) for i in range(0, len(self.entries), width))


@record
class StructValue:
    """Named values: scalars, vectors, matrices, structs; of a `kind`, unless it was made without a type."""

    members: Mapping[str, Any]
    kind: StructTypeBase | None = None


@record
class Element:
    """Entries of one element of a memory; a private buffer is its own only element.

    Attributes
    ----------
    memory : Memory
        Where.
    index : tuple of Atom
        Along the field's axes.
    shape : tuple of int
        Of what is meant; ``()`` for a scalar.
    entries : tuple of tuple of Atom
        Along the entry axes, for each scalar that is meant.
    clamped : bool
        Whether an index of its own that lies outside means the nearest entry.
    """

    memory: Memory
    index: tuple[Atom, ...]
    shape: Shape
    entries: tuple[tuple[Atom, ...], ...]
    clamped: bool = False


@record
class FieldValue:
    """A field, and what the user calls it; `clamped`, an index outside means the nearest element."""

    field: FieldLike
    name: str
    clamped: bool = False


@record
class StructFieldValue:
    """A field of structs, and what the user calls it."""

    field: StructFieldLike
    name: str

    @property
    def kind(self) -> StructTypeBase:
        """The type of its elements."""
        return self.field.__dsim_struct__

    @property
    def keys(self) -> tuple[str, ...]:
        """The names of its members, in order."""
        return tuple(self.field.__dsim_struct_field__)


@record
class StructElement:
    """One element of a struct field, not loaded yet; each member of it is an element of a field."""

    field: StructFieldValue
    index: tuple[Atom, ...]


@record
class Opaque:
    """A Python object known at compile time, and how it is reached (None: made by `static`)."""

    value: Any
    path: Path | None = None


@record
class Method:
    """A method of a value, not called yet; `node` is the expression that the value came from."""

    owner: Any
    name: str
    node: Any


@record
class Range:
    """What a loop counts through: bounds and step may be known at run time only."""

    start: Scalar
    stop: Scalar
    step: Scalar = 1


@record
class Grid:
    """What a nest of loops counts through, outermost first; `grouped` gives one index vector."""

    axes: tuple[Range, ...]
    grouped: bool = False


@record
class Unrolled:
    """Items of a loop that is unrolled at compile time."""

    items: tuple[Any, ...]


@dataclass(frozen=True, eq=False)
class LocalFunc:
    """A function defined inside a kernel or func; it sees the locals around it as they are at the call.

    Attributes
    ----------
    node : ast.FunctionDef
        Its text.
    frame : Frame
        That of the function around.
    defaults, annotations : mapping of str to object
        By parameter, as evaluated where it is defined; the annotation ``return`` is the result's.
    comprehensions : tuple of mapping
        The names of the list comprehensions around it, innermost last.
    """

    node: ast.FunctionDef
    frame: Any
    defaults: Mapping[str, Value]
    annotations: Mapping[str, Any]
    comprehensions: tuple[Mapping[str, Value], ...] = ()


@dataclass(frozen=True, eq=False)
class Partial:
    """A function some of whose arguments are given already, as by `functools.partial`."""

    function: Any
    args: tuple[Value, ...]
    keywords: Mapping[str, Value]


@record
class Keywords:
    """What a ``**`` parameter stands for: arguments by their names, to be passed on or taken one by one."""

    members: Mapping[str, Any]


@dataclass(frozen=True, eq=False)
class RecordValue:
    """A dataclass: a kernel's argument, whose members are arguments of their own, or one made in the kernel.

    Attributes
    ----------
    kind : type
        Its class.
    name : str
        What the user calls it: the parameter, or the class.
    members : mapping of str to Value
        By name.
    after : type, optional
        The class whose methods, and those of the classes before it, are not looked up: for ``super()``.
    """

    kind: type
    name: str
    members: Mapping[str, Value]
    after: type | None = None


class Poison:
    """The value of a name whose assignment was refused; using it is not reported again."""


POISON = Poison()
Value = Any


def is_scalar(value: Value) -> bool:
    """Whether `value` is one number, at run time or at compile time."""
    return isinstance(value, Var | Const | int | float | Weak)


def is_number(value: Value) -> bool:
    """Whether `value` is a Python number, known at compile time and of open type."""
    return isinstance(value, int | float)


def is_open(value: Value) -> bool:
    """Whether `value` is a number of open type: a Python number, or one that each launch passes."""
    return isinstance(value, int | float | Weak)


def kind_of(value: Any) -> type:
    """The Python type of a number of open type."""
    return value.kind if isinstance(value, Weak) else type(value)


def positions(shape: Shape) -> Iterator[tuple[int, ...]]:
    """All index tuples of `shape`, in row order."""
    return product(*(range(n) for n in shape))


def size(shape: Shape) -> int:
    """How many entries `shape` has."""
    n = 1
    for length in shape:
        n *= length
    return n


def filled(shape: Shape, value: Value) -> Mat:
    """A vector or matrix whose entries are all `value`, a scalar."""
    return Mat(shape, (value,) * size(shape))


_LETTERS = "xyzw"


def component_names(name: str, shape: Shape) -> list[str]:
    """Readable names of the scalars that make up `name`: ``r_x``, ``w_5``, ``F_01``."""
    if not shape:
        return [name]
    if len(shape) == 1:
        return [f"{name}_{_LETTERS[i] if shape[0] <= 4 else i}" for i in range(shape[0])]
    return [f"{name}_{_digits(at, shape)}" for at in positions(shape)]


def _digits(at: tuple[int, ...], shape: Shape) -> str:
    return ("" if max(shape) <= 10 else "_").join(map(str, at))


def describe(value: Value) -> str:
    """What `value` is, for messages: ``a vector of 3``, ``an f32``, ``a field``."""
    if is_scalar(value):
        return _describe_scalar(value)
    if isinstance(value, Mat):
        return describe_shape(value.shape)
    if isinstance(value, Element):
        return describe_shape(value.shape) if value.shape else f"an element of `{value.memory.name}`"
    if isinstance(value, StructValue | RecordValue):
        return _describe_struct(value)
    if isinstance(value, tuple | list):
        return f"a {type(value).__name__} of {len(value)}"
    return _describe_object(value)


def _describe_struct(value: StructValue | RecordValue) -> str:
    if isinstance(value, RecordValue):
        return f"the dataclass `{value.name}`"
    if value.kind is not None and value.kind.name:
        return f"{'an' if value.kind.name[0] in 'AEIOU' else 'a'} `{value.kind.name}`"
    return f"a struct of {listed(value.members)}"


def listed(names: Iterable[str]) -> str:
    """Names for the middle of a sentence: ```pos`, `mass```."""
    return ", ".join(f"`{name}`" for name in names)


def _describe_scalar(value: Scalar) -> str:
    if isinstance(value, Var | Const):
        t = value.type
        return "a truth value" if t.kind == "bool" else f"{'a' if t.kind == 'uint' else 'an'} {t}"
    return {bool: "a truth value", int: "an integer"}.get(kind_of(value), "a float")


def _describe_object(value: Value) -> str:
    if isinstance(value, FieldValue | Method):
        return f"the {'field' if isinstance(value, FieldValue) else 'method'} `{value.name}`"
    if isinstance(value, StructFieldValue | StructElement):
        of = value if isinstance(value, StructFieldValue) else value.field
        return f"the struct field `{of.name}`" if of is value else f"an element of `{of.name}`"
    if isinstance(value, Opaque) and inspect.isroutine(value.value) and hasattr(value.value, "__name__"):
        return f"the function `{value.value.__name__}`"
    if isinstance(value, Opaque):
        return f"a Python object of type `{type(value.value).__name__}`"
    if isinstance(value, Keywords):
        return f"the arguments {listed(value.members)}"
    return _KINDS.get(type(value), f"a `{type(value).__name__}`")


_KINDS: dict[type, str] = {
    str: "a string",
    type(None): "None",
    **dict.fromkeys((Range, Grid, Unrolled), "a range"),
    **dict.fromkeys((LocalFunc, Partial), "a function"),
}


def describe_shape(shape: Shape) -> str:
    """``a scalar``, ``a vector of 3``, ``a matrix of 2 by 3``."""
    if not shape:
        return "a scalar"
    if len(shape) == 1:
        return f"a vector of {shape[0]}"
    return f"a matrix of {' by '.join(map(str, shape))}"


def flat(values: Iterable[Value]) -> list[Value]:
    """All of `values` one after the other, tuples and lists among them opened."""
    out: list[Value] = []
    for v in values:
        if isinstance(v, tuple | list):
            out.extend(flat(v))
        else:
            out.append(v)
    return out
