"""Types that a person writes: scalar types, vector and matrix types, and what counts as one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dsim.frontend.lowered import Settings
from dsim.frontend.values import Opaque, Shape, Value, size
from dsim.ir.types import ScalarType, from_numpy, u1


@dataclass(frozen=True, slots=True)
class MatrixType:
    """The type of vectors (one axis) or matrices (two): an annotation, and inside kernels a constructor.

    Attributes
    ----------
    dtype : ScalarType or type
        The type of an entry; Python's ``float`` and ``int`` mean the defaults.
    shape : tuple of int
        ``(n,)`` or ``(n, m)``.
    """

    dtype: Any
    shape: Shape

    def __call__(self, *values: Any) -> np.ndarray:
        """A host array of this type (outside kernels; inside it makes a local vector or matrix)."""
        dtype = self.dtype.numpy if isinstance(self.dtype, ScalarType) else np.dtype(self.dtype)
        flat = np.concatenate([np.ravel(v) for v in values]) if values else np.zeros(1)
        if flat.size == 1:
            flat = np.full(size(self.shape), flat[0])
        return flat.reshape(self.shape).astype(dtype)


class Template:
    """The annotation of a func's parameter that takes its argument as it is, compile-time values too."""

    __dsim_template__ = True


def is_template(annotation: object) -> bool:
    """Whether a parameter takes its argument as it is."""
    return getattr(annotation, "__dsim_template__", None) is not None


def scalar_type(value: Any, settings: Settings) -> ScalarType | None:
    """The scalar type that `value` (a type object of some kind) means, or None."""
    if isinstance(value, Opaque):
        value = value.value
    if isinstance(value, ScalarType):
        return value
    known: dict[Any, ScalarType] = {float: settings.default_fp, int: settings.default_ip, bool: u1}
    if isinstance(value, type) and value in known:
        return known[value]
    if isinstance(value, np.dtype) or (isinstance(value, type) and issubclass(value, np.generic)):
        try:
            return from_numpy(value)
        except (KeyError, TypeError):
            return None
    return None


def matrix_type(value: Value) -> MatrixType | None:
    """The vector or matrix type that `value` is, or None."""
    if isinstance(value, Opaque):
        value = value.value
    return value if isinstance(value, MatrixType) else None
