"""Where fields get their shape: `root`, `dense` below it, `place`, and gradients placed lazily.

Every field has a memory of its own, in the order of its axes. Blocks inside blocks
(``root.dense(ij, n).dense(ij, 4)``) and several fields in one place only set the shape here: they are
advice on memory order that this machine code does not need.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from dsim.diagnostics import Diagnostic, LaunchError, LaunchTypeError
from dsim.diagnostics.frames import outermost
from dsim.runtime.fields.components import Component
from dsim.runtime.fields.fields import BAR, DOT, Field
from dsim.runtime.fields.struct_fields import StructField
from dsim.runtime.state.references import uncopied
from dsim.runtime.state.registry import Registry


@dataclass(frozen=True, slots=True)
class Axis:
    """One axis of index space: 0 for `i`, 1 for `j` and so on."""

    number: int


def axes(*numbers: int) -> tuple[Axis, ...]:
    """The axes of these numbers: ``axes(0, 1)`` is `ij`."""
    return tuple(Axis(n) for n in numbers)


class Node:
    """A node of the tree in which fields are placed; a kernel loops over all indices of one."""

    __dsim_layout_node__ = True

    def __init__(self, above: InnerNode | None, lengths: dict[int, int]) -> None:
        self._above = above
        self._lengths = lengths

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the fields placed here."""
        return tuple(self._lengths[a] for a in sorted(self._lengths))

    def parent(self, n: int = 1) -> Node | None:
        """The node that is `n` above this one; None above the root."""
        found: Node | None = self
        for _ in range(n):
            found = None if found is None else found._above
        return found

    def __deepcopy__(self, memo: dict[int, Any]) -> Node:
        return self  # copies of fields are placed beside their originals

    def __reduce__(self) -> tuple[Any, ...]:
        uncopied("a node of the layout", "copy the fields that are placed in it")

    @outermost
    def __getattr__(self, name: str) -> Any:
        if name in _SPARSE:
            raise AttributeError(f"sparse layouts ({name}) are not supported: use dense()")
        raise AttributeError(f"a layout node has no attribute {name!r}")


_SPARSE = (
    "pointer", "bitmasked", "dynamic", "quant_array", "bit_struct", "hash", "deactivate_all",
    "num_dynamically_allocated",
)  # fmt: skip


class InnerNode(Node):
    """A node that fields can be placed in: the root, or a dense block of it."""

    def __init__(self, above: InnerNode | None, lengths: dict[int, int]) -> None:
        super().__init__(above, lengths)
        self.fields: Registry[Field] = Registry()  # placed here and below
        self.finalized = False

    def _around(self) -> Iterator[InnerNode]:
        """This node and those above it."""
        node: InnerNode | None = self
        while node is not None:
            yield node
            node = node._above

    def _require_open(self) -> None:
        if any(node.finalized for node in self._around()):
            message = "this FieldsBuilder is finalized: no more fields can be placed in it"
            raise LaunchError(Diagnostic("unplaced", message, help="make a new `FieldsBuilder()`"))

    @outermost
    def dense(self, axes: Any, dimensions: Any) -> InnerNode:
        """A block with `dimensions` elements along `axes` in each element of this one."""
        along = [_number(a) for a in (axes if isinstance(axes, Iterable) else (axes,))]
        if len(set(along)) != len(along):
            raise ValueError("a block can have each axis only once; split an axis by nested blocks")
        lengths = list(dimensions) if isinstance(dimensions, Iterable) else [dimensions]
        lengths *= len(along) if len(lengths) == 1 else 1
        if len(along) != len(lengths):
            raise ValueError(f"{len(along)} axes need {len(along)} lengths, got {len(lengths)}")
        made = dict(self._lengths)
        for axis, length in zip(along, lengths, strict=True):
            made[axis] = made.get(axis, 1) * _length(length)
        self._require_open()
        return InnerNode(self, made)

    @outermost
    def place(self, *fields: Any, offset: Any = None) -> InnerNode:
        """Places fields, also gradients and tangents of fields; gives the node back.

        Parameters
        ----------
        *fields
            Fields, struct fields, components of fields (``v.get_scalar_field(0)``), and lists of them.
        offset : int or sequence of int, optional
            The first index along each axis; 0 without it.
        """
        self._require_open()
        for f in fields:
            if isinstance(f, list | tuple):
                self.place(*f, offset=offset)
            elif isinstance(f, StructField):
                self.place(*f.__dsim_struct_field__.values(), offset=offset)
            elif isinstance(f, Component):
                self._place_component(f, offset)
            elif isinstance(f, Field):
                self._place(f, offset)
            else:
                raise TypeError(f"only fields can be placed, not {type(f).__name__}")
        return self

    def _place(self, f: Field, offset: Any) -> None:
        root = f.root
        first = () if offset is None else first_indices(offset, self.shape)
        _place(f, self.shape)
        if not f.derivative:
            root.first = first
            root.node = Leaf(self, self._lengths)
        for node in self._around():
            node.fields.add(root)

    def _place_component(self, f: Component, offset: Any) -> None:
        """The first component that is placed places all of its field; the others must agree with it."""
        if f.component in f.whole.parts:
            raise _placed_twice(f)
        if f.whole.parts and f.whole.shape != self.shape:
            message = f"{f.quoted} is placed with shape {self.shape}, its field with shape {f.whole.shape}"
            raise LaunchTypeError(Diagnostic("shape", message, help="place all components with one shape"))
        if not f.whole.parts:
            self._place(f.whole, offset)
        f.whole.parts.add(f.component)

    def lazy_grad(self) -> None:
        """Gives every float field placed here or below so far a gradient."""
        self._lazy(BAR)

    def lazy_dual(self) -> None:
        """Gives every float field placed here or below so far a tangent."""
        self._lazy(DOT)

    def _lazy(self, derivative: tuple[str, ...]) -> None:
        for f in self.fields:
            if f.dtype.is_float:
                f.want(derivative)


class Leaf(Node):
    """The place of a field, and of its copies: ``x.snode``."""

    def hold(self, field: Field) -> None:
        """Notes that `field` is placed here."""
        above = self._above
        for node in above._around() if above is not None else ():
            node.fields.add(field)

    def __reduce__(self) -> tuple[Any, ...]:
        return _leaf, (self._lengths,)


class Tree(InnerNode):
    """A root of its own: ``FieldsBuilder()``; `root` is the one that everybody uses."""

    def __init__(self) -> None:
        super().__init__(None, {})

    @property
    def root(self) -> Tree:
        """The root: itself."""
        return self

    @property
    def empty(self) -> bool:
        """Whether no field that is still there was placed."""
        return not self.fields

    def finalize(self, raise_warning: bool = True) -> Tree:
        """Gives the tree back. Placed fields can be used without it; afterwards nothing can be placed."""
        self.finalized = True
        return self

    def __reduce__(self) -> Any:
        return "root" if self is root else super().__reduce__()

    def destroy(self) -> None:
        """Lets go of the fields: the memory of each is free when nobody holds it any more."""
        self.forget()

    def forget(self) -> None:
        """Lets `lazy_grad` no longer mean the fields placed so far. They stay what they are."""
        self.fields.clear()


root = Tree()


def _leaf(lengths: dict[int, int]) -> Leaf:
    """A place in a block of its own below the root: of a field from another process, say."""
    return Leaf(root.dense(axes(*lengths), list(lengths.values())) if lengths else root, lengths)


def _number(axis: Any) -> int:
    if not isinstance(axis, Axis):
        what = type(axis).__name__
        raise TypeError(f"axes are given as `ds.i`, `ds.ij` or `ds.axes(0, 1)`, not as {what}")
    return axis.number


def _length(value: Any) -> int:
    try:
        length = operator.index(value)
    except TypeError:
        raise TypeError(f"the length of an axis must be an integer, got {type(value).__name__}") from None
    if length <= 0:
        raise ValueError(f"a field needs at least one element along every axis, got length {length}")
    return length


def shape_of(shape: Any) -> tuple[int, ...]:
    """A checked shape from an integer or a sequence of integers."""
    return tuple(_length(n) for n in (shape if isinstance(shape, Iterable) else (shape,)))


def first_indices(offset: Any, shape: tuple[int, ...]) -> tuple[int, ...]:
    """A checked offset for fields of this shape; ``()`` when indices start with 0.

    Raises
    ------
    TypeError, ValueError
        When it is not one integer for each axis.
    """
    given = tuple(offset) if isinstance(offset, Iterable) else (offset,)
    try:
        first = tuple(map(operator.index, given))
    except TypeError:
        raise TypeError(f"an offset is made of integers, got {offset!r}") from None
    if len(first) != len(shape):
        raise ValueError(f"shape {shape} needs {len(shape)} offsets, got {len(first)}")
    return first if any(first) else ()


def place_at(field: Field, shape: Any, offset: Any = None) -> None:
    """Places `field` in a block of its own below the root, with this shape."""
    lengths = shape_of(shape)
    block = root.dense(axes(*range(len(lengths))), lengths) if lengths else root
    block.place(field, offset=offset)


def _place(field: Field, shape: tuple[int, ...]) -> None:
    if field.derivative:
        _place_companion(field, shape)
        return
    if field.buffer is not None:
        raise _placed_twice(field)
    for companion in field.companions.values():
        if companion is not field and companion.wanted:
            _same_shape(companion, shape)
    field.give(shape)
    for companion in list(field.companions.values()):
        companion.shape = shape
        if companion.wanted:
            companion.allocate(shape)


def _placed_twice(field: Field | Component) -> LaunchError:
    message = f"{field.quoted} has been placed already, with shape {field.shape}"
    return LaunchError(Diagnostic("unplaced", message, help="place each field only once"))


def _place_companion(field: Field, shape: tuple[int, ...]) -> None:
    if field.root.buffer is not None:
        _same_shape_as_root(field, shape)
        field.root.want(field.derivative)
        return
    field.shape = shape
    field.wanted = True


def _same_shape(companion: Field, shape: tuple[int, ...]) -> None:
    if companion.shape not in ((), shape):
        _refuse_shape(companion, companion.shape, shape)


def _same_shape_as_root(field: Field, shape: tuple[int, ...]) -> None:
    if shape != field.root.shape:
        _refuse_shape(field, shape, field.root.shape)


def _refuse_shape(companion: Field, got: tuple[int, ...], wanted: tuple[int, ...]) -> None:
    message = f"{companion.quoted} is placed with shape {got}, its field with shape {wanted}"
    raise LaunchTypeError(Diagnostic("shape", message, help="place both with one shape"))
