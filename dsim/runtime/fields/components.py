"""Components of fields: the first numbers of all vectors, say, as a field of numbers over the same memory."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from dsim.diagnostics import Diagnostic, LaunchTypeError
from dsim.diagnostics.frames import outermost
from dsim.ir.types import ScalarType
from dsim.runtime.fields import access, tensors
from dsim.runtime.fields.storage import Storage
from dsim.runtime.state.stack import opened


class Component:
    """One number of every entry of a field of vectors or matrices; ``v.get_scalar_field(i)`` makes it.

    Kernels read and write it like a field of numbers.

    Attributes
    ----------
    whole : Field
        The field that it is a part of.
    component : tuple of int
        Which number of each entry it is.
    """

    __dsim_field__ = True
    entry_shape: tuple[int, ...] = ()
    n = m = 1

    def __init__(self, whole: Any, component: tuple[int, ...]) -> None:
        self.whole = whole
        self.component = component

    def __repr__(self) -> str:
        return f"<component {list(self.component)} of {self.whole!r}>"

    def __copy__(self) -> Component:
        return copy.deepcopy(self)

    def __reduce__(self) -> tuple[Any, ...]:
        return _component, (self.whole, self.component)

    # -- properties of its field

    @property
    def dtype(self) -> ScalarType:
        """The type of the numbers."""
        return self.whole.dtype

    @property
    def shape(self) -> tuple[int, ...]:
        """The lengths of the axes that indices run over."""
        return self.whole.shape

    @property
    def full_shape(self) -> tuple[int, ...]:
        """The shape of an array of its numbers."""
        return self.whole.shape

    @property
    def offset(self) -> tuple[int, ...]:
        """The first index along each axis; ``()`` when they are 0."""
        return self.whole.offset

    @property
    def placed(self) -> bool:
        """Whether it has memory that a user may use."""
        return self.whole.placed

    @property
    def root(self) -> Storage:
        """The field whose numbers, gradients or tangents these are."""
        return self.whole.root

    @property
    def derivative(self) -> tuple[str, ...]:
        """The derivative of the root that its field is."""
        return self.whole.derivative

    @property
    def operations(self) -> dict[Any, Any]:
        """Python's operations on its field, as forms."""
        return self.whole.operations

    @property
    def quoted(self) -> str:
        """Its name in messages."""
        return f"component {', '.join(map(str, self.component))} of {self.whole.quoted}"

    @property
    def grad(self) -> Component:
        """This component of the gradient."""
        return self.whole.grad.get_scalar_field(*self.component)

    @property
    def dual(self) -> Component:
        """This component of the tangent."""
        return self.whole.dual.get_scalar_field(*self.component)

    @property
    def snode(self) -> Any:
        """The place of its field in the layout."""
        return self.whole.snode

    def parent(self, n: int = 1) -> Any:
        """The node of the layout that is `n` above its field's place."""
        return self.whole.parent(n)

    # -- the numbers from Python

    @outermost
    def __getitem__(self, key: Any) -> Any:
        return self.whole[key][self._inner]

    @outermost
    def __setitem__(self, key: Any, value: Any) -> None:
        self.whole[key][self._inner] = value

    @property
    def _inner(self) -> Any:
        return self.component[0] if len(self.component) == 1 else self.component

    @outermost
    def to_numpy(self, dtype: Any = None) -> np.ndarray:
        """A copy of its numbers, of shape `shape`."""
        whole = self.whole.to_numpy(dtype=dtype).reshape(self.whole.full_shape)
        return np.ascontiguousarray(whole[(..., *self.component)])

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return self.to_numpy(dtype)

    @outermost
    def from_numpy(self, values: Any) -> None:
        """Sets its numbers to those of an array of the same shape."""
        buffer = self.whole.require()
        array = access.fitting_array(self, access.given_array(self, values))
        if opened():
            opened()[-1].given(self, array)
        else:
            buffer[(..., *self.component)] = array
            self.whole.written_by_python()

    def to_torch(self, device: Any = None) -> Any:
        """A copy of its numbers as a PyTorch tensor."""
        return tensors.tensor_of(self.to_numpy(), device)

    def from_torch(self, tensor: Any) -> None:
        """Sets its numbers to those of a PyTorch tensor of the same shape."""
        self.from_numpy(tensors.array_of(tensor))

    @outermost
    def fill(self, value: Any) -> None:
        """Sets every number to `value`."""
        buffer = self.whole.require()
        number = access.fitting_number(self, value)
        if opened():
            opened()[-1].filled(self, (number,))
        else:
            buffer[(..., *self.component)] = number
            self.whole.written_by_python()

    @outermost
    def copy_from(self, other: Storage | Component) -> None:
        """Sets its numbers to those of a field of numbers, or of a component, of the same shape."""
        copied(self, other)


def _component(whole: Any, component: tuple[int, ...]) -> Component:
    return whole.get_scalar_field(*component)


def copied(target: Any, source: Any) -> None:
    """Sets the numbers of a field or component to those of another one.

    Raises
    ------
    LaunchTypeError
        When `source` is neither, or of another shape.
    """
    if not isinstance(source, Storage | Component):
        raise LaunchTypeError(Diagnostic("argument", f"copy_from() takes a field, not {kind_of(source)}"))
    whole: Any = source.whole
    to, of = target.whole.require(), whole.require()
    if source.full_shape != target.full_shape:
        shapes = f"shape {target.full_shape} cannot take the numbers of shape {source.full_shape}"
        advice = "both need the same shape, including that of an entry; copy parts in a kernel"
        raise LaunchTypeError(Diagnostic("shape", f"{target.quoted} of {shapes}", help=advice))
    if target.dtype.is_integer and source.dtype != target.dtype:
        access.fitting_array(target, of[(..., *source.component)], "field")
    whole.looked_at()
    if opened():
        opened()[-1].copied(target, source)
    else:
        to[(..., *target.component)] = of[(..., *source.component)]
        target.whole.written_by_python()


def kind_of(value: object) -> str:
    """The kind of a value that is not a field, for messages."""
    if isinstance(value, Component):
        return "a component of a field"
    return "a NumPy array" if isinstance(value, np.ndarray) else type(value).__name__
