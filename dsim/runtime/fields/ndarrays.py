"""Arrays that are passed to kernels as arguments: fields without a name of their own in a kernel."""

from __future__ import annotations

from typing import Any, Self

from dsim.frontend.values.types import MatrixType
from dsim.runtime.fields.fields import Field


class Ndarray(Field):
    """An array that kernels take as an argument annotated ``types.ndarray(…)``.

    Made by ``ndarray()``, ``Vector.ndarray()`` and ``Matrix.ndarray()``. It is a `Field` in every way: it may
    have a gradient, and tapes see what is written to it.
    """

    word = "ndarray"

    @property
    def element_shape(self) -> tuple[int, ...]:
        """The shape of an element, as Taichi calls it."""
        return self.entry_shape

    @property
    def element_type(self) -> Any:
        """The type of an element: of numbers, or of vectors or matrices of them."""
        return MatrixType(self.dtype, self.entry_shape) if self.entry_shape else self.dtype

    def __repr__(self) -> str:
        return super().__repr__().replace("field", "ndarray", 1)

    def __copy__(self) -> Self:
        return self  # in Taichi a second name for the same memory
