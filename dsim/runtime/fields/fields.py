"""Fields: typed arrays that kernels read and write, with their gradients and tangents beside them.

This is their interface in Python. The memory of numbers and companions is in `storage.py`,
shapes are in `layout.py`, single elements in `access.py`.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator
from operator import attrgetter
from typing import Any, Self

import numpy as np

from dsim.backends.locks import COMPILING
from dsim.diagnostics import Diagnostic, LaunchTypeError
from dsim.diagnostics.frames import outermost, trimmed
from dsim.runtime.fields import access, copies, tensors
from dsim.runtime.fields.components import Component, copied, kind_of
from dsim.runtime.fields.storage import BAR, COMPANIONS, DOT, Storage, newest
from dsim.runtime.state import turns
from dsim.runtime.state.once import kept
from dsim.runtime.state.stack import opened
from dsim.weak_mappings import WeakValues

__all__ = [
    "BAR", "DOT", "Field", "begin_turn", "companions_with_memory", "foreign", "kind_of", "newest", "youngest",
    "zeros_like",
]  # fmt: skip

# The names offered by completion; the others are internal.
_FOR_PEOPLE = frozenset(
    [
        "array",
        "copy_from",
        "dtype",
        "dual",
        "element_shape",
        "entry_shape",
        "fill",
        "get_scalar_field",
        "from_numpy",
        "from_torch",
        "grad",
        "m",
        "n",
        "name",
        "ndim",
        "needs_dual",
        "needs_grad",
        "parent",
        "shape",
        "snode",
        "to_numpy",
        "to_torch",
    ]
)


class Field(Storage):
    """Numbers of one type on a grid; vectors and matrices of them with `entry_shape`.

    Made by ``field()``, ``Vector.field()`` and ``Matrix.field()``, never directly.

    Attributes
    ----------
    dtype : ScalarType
        The type of the numbers.
    shape : tuple of int
        The lengths of the axes that indices run over; ``()`` for a single entry.
    entry_shape : tuple of int
        ``()`` for numbers, ``(n,)`` for vectors, ``(n, m)`` for matrices.
    derivative : tuple of str
        Which derivative of its root it is: ``("bar",)`` the gradient, ``("dot",)`` the tangent, and so on.
    number : int
        Later fields have higher ones.
    """

    components: WeakValues[tuple[int, ...], Component] | None = None  # that somebody holds

    def __repr__(self) -> str:
        kind = {0: "field", 1: "vector field", 2: "matrix field"}[len(self.entry_shape)]
        of = f" of {'×'.join(map(str, self.entry_shape))}" if self.entry_shape else ""
        where = f"shape {self.shape}" if self.buffer is not None else "not placed"
        called = f" {self.name}" if self.root.given_name else ""
        return f"<{kind}{called}{of}: {self.dtype}, {where}>"

    def __copy__(self) -> Self:
        return copy.deepcopy(self)  # as NumPy's arrays: with memory of its own

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return copies.deep(self, memo)

    def __reduce__(self) -> tuple[Any, ...]:
        return copies.reduced(self)

    def __dir__(self) -> list[str]:
        return [n for n in object.__dir__(self) if n.startswith("__") or n in _FOR_PEOPLE]

    def __str__(self) -> str:
        self.looked_at()
        return repr(self) if self.buffer is None else str(self.buffer)

    # -- its place, and its components

    @property
    @outermost
    def snode(self) -> Any:
        """Its place in the layout; `snode.parent()` is the node that it was placed in."""
        self.root.require()
        return self.root.node

    @outermost
    def parent(self, n: int = 1) -> Any:
        """The node of the layout that is `n` above its place: the one that it was placed in."""
        return self.snode.parent(n)

    @outermost
    def get_scalar_field(self, *indices: int) -> Component:
        """One number of every entry, as a field of numbers over the same memory.

        Examples
        --------
        >>> import dsim as ti
        >>> v = ti.Vector.field(2, ti.f32, shape=3)
        >>> v.get_scalar_field(1).fill(5.0)
        >>> v[0]
        [0.0, 5.0]
        """
        shape = self.entry_shape
        if len(indices) == 2 and len(shape) == 1 and indices[1] == 0:
            indices = indices[:1]
        if len(indices) != len(shape) or not all(0 <= k < n for k, n in zip(indices, shape, strict=True)):
            given = ", ".join(map(str, indices))
            message = f"{self.quoted} has entries of shape {shape}, and so no component {given}"
            raise LaunchTypeError(Diagnostic("index", message))
        if self.components is None:
            with COMPILING:
                self.components = self.components or WeakValues()
        return kept(self.components, indices, lambda: Component(self, indices))

    # -- the numbers from Python

    @property
    def n(self) -> int:
        """The number of rows of an entry."""
        return self.entry_shape[0] if self.entry_shape else 1

    @property
    def m(self) -> int:
        """The number of columns of an entry."""
        return self.entry_shape[1] if len(self.entry_shape) == 2 else 1

    @property
    def ndim(self) -> int:
        """The number of axes of an entry: 0 for numbers, 1 for vectors, 2 for matrices."""
        return len(self.entry_shape)

    @property
    @outermost
    def array(self) -> np.ndarray:
        """Its numbers as they are and will be: a NumPy view that can be read only."""
        if opened():
            opened()[-1].element_read(self)
        self.looked_at()
        return np.asarray(self.require().data.toreadonly())  # which cannot be made writeable

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        view = self.array
        if dtype is not None and np.dtype(dtype) != view.dtype:
            return view.astype(dtype)
        return view.copy() if copy else view

    def __getitem__(self, key: Any) -> Any:
        if (
            key is None
            and self.buffer is not None
            and self.wanted
            and not (self.shape or self.entry_shape or self.derivative or opened())
        ):
            return self.buffer.item()  # the loss, mostly
        try:
            return access.get(self, key)
        except BaseException as error:
            trimmed(error)
            raise

    def __setitem__(self, key: Any, value: Any) -> None:
        try:
            access.put(self, key, value)
        except BaseException as error:
            trimmed(error)
            raise

    @outermost
    def __len__(self) -> int:
        raise TypeError(f"{self.quoted} has no len(): its shape is {self.shape}")

    @outermost
    def __iter__(self) -> Iterator[Any]:
        raise TypeError(f"{self.quoted} can be iterated over in kernels only: use .to_numpy() in Python")

    @outermost
    def to_numpy(self, keep_dims: bool = False, dtype: Any = None) -> np.ndarray:
        """A copy of its numbers, of shape `shape` and then that of an entry.

        Parameters
        ----------
        keep_dims : bool
            Whether vectors, and matrices of one column, have both axes: ``(n, 1)`` instead of ``(n,)``.
        dtype : type, optional
            Of the copy's numbers.
        """
        if not isinstance(keep_dims, bool):  # a type, as in Taichi's fields of numbers
            keep_dims, dtype = False, keep_dims
        if opened():
            opened()[-1].element_read(self)
        self.looked_at()
        made = self.require().astype(self.dtype.numpy if dtype is None else dtype)
        return made.reshape(self.shape + self._columns(keep_dims))

    def _columns(self, keep: bool) -> tuple[int, ...]:
        """The shape of an entry, with its only column or without."""
        column = self.entry_shape[:1] if self.m == 1 else ()
        return ((*column, 1) if keep else column) if column else self.entry_shape

    @outermost
    def from_numpy(self, values: Any) -> None:
        """Sets its numbers to those of an array of the same shape.

        Vectors, and matrices of one column, may have both axes, ``(n, 1)``, or one.

        Raises
        ------
        LaunchTypeError
            When the shape differs, or the array's numbers cannot be numbers of the field's type.
        """
        if opened() and isinstance(values, np.ndarray):
            opened()[-1].array_read(values)
        self.set_numbers(values)

    def set_numbers(self, values: Any) -> None:
        """As `from_numpy`, for numbers that are no user's array."""
        buffer = self.require()
        array = access.given_array(self, values)
        if array.shape in (self.shape + self._columns(True), self.shape + self._columns(False)):
            array = array.reshape(self.full_shape)
        array = access.fitting_array(self, array)
        if not opened():
            buffer[...] = array
            self.written_by_python()
        else:
            opened()[-1].given(self, array)

    def to_torch(self, device: Any = None, keep_dims: bool = False) -> Any:
        """A copy of its numbers as a PyTorch tensor, on `device` or the CPU; else as `to_numpy`."""
        return tensors.tensor_of(self.to_numpy(keep_dims), device)

    @outermost
    def from_torch(self, tensor: Any) -> None:
        """Sets its numbers to those of a PyTorch tensor of the same shape, wherever that lies."""
        self.from_numpy(tensors.array_of(tensor))

    @outermost
    def copy_from(self, other: Field | Component) -> None:
        """Sets its numbers to those of a field, or of a component of one, of the same shape."""
        copied(self, other)

    @outermost
    def fill(self, value: Any) -> None:
        """Sets every entry to `value`: a number, or in a field of vectors a vector."""
        buffer = self.require()
        values = access.entry_numbers(self, value)
        if opened():
            opened()[-1].filled(self, values)
        elif len(values) == 1:
            buffer.fill(values[0])
            self.written_by_python()
        else:
            buffer[...] = np.array(values, buffer.dtype).reshape(self.entry_shape)
            self.written_by_python()


def youngest(fields: Iterable[Field | Component]) -> Any:
    """The field that was made last.

    Data about several fields is stored with that one: so no field keeps later ones alive.
    """
    return max([f.root for f in fields], key=_age)


_age = attrgetter("number")


def companions_with_memory(last: str) -> list[Field]:
    """All fields with memory that are the `last` (``bar`` or ``dot``) of something."""
    return [f for f in COMPANIONS if f.derivative[-1] == last]


def zeros_like(of: Field | Component, name: str) -> Field:
    """A field of zeros with the type and shape of another one, or of a component."""
    made = Field(of.dtype, of.entry_shape, name)
    made.allocate(of.shape)
    return made


def _noted() -> list[int]:
    """The turns in which companions were written, or set to 0."""
    return [n for f in COMPANIONS for n in (f.touched, f.cleared)]


def begin_turn(last: str) -> list[Field]:
    """Begins a turn (turns.py); returns the possibly nonzero companions written in earlier turns."""
    turns.begin(_noted)
    if not turns.several():
        live = COMPANIONS.references()
        return [f for ref in live if (f := ref()) is not None and f.touched and f.derivative[-1] == last]
    # Other threads may change a note: it is read once.
    noted = [(f, turn) for f in COMPANIONS if (turn := f.touched) and f.derivative[-1] == last]
    return [f for f, turn in noted if turns.own(turn)]


def foreign(field: Field) -> bool:
    """Whether another thread or task has written to `field`, a gradient or tangent, last."""
    turn = field.touched  # which another thread may change
    return turn != 0 and not turns.own(turn)
