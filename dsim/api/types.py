"""Types: numbers, and vectors and matrices of them for annotations and fields."""

from __future__ import annotations

from typing import Any

from dsim.api.fields import Matrix, Vector
from dsim.frontend.types import MatrixType
from dsim.ir.types import f16, f32, f64, i8, i16, i32, i64, u1, u8, u16, u32, u64
from dsim.runtime import settings
from dsim.runtime.fields import Field
from dsim.runtime.values import Array

float16, float32, float64 = f16, f32, f64
int8, int16, int32, int64 = i8, i16, i32, i64
uint8, uint16, uint32, uint64 = u8, u16, u32, u64


class CompoundType(MatrixType):
    """The type of vectors or matrices of one size: an annotation, a constructor, a maker of fields."""

    __slots__ = ()

    def __call__(self, *values: Any) -> Any:
        """A host vector or matrix of this type; one number fills it."""
        return Array(super().__call__(*values))

    def field(self, shape: Any = None, **options: Any) -> Field:
        """A field of such entries; see `field`."""
        if len(self.shape) == 1:
            return Vector.field(self.shape[0], self.dtype, shape, **options)
        return Matrix.field(self.shape[0], self.shape[1], self.dtype, shape, **options)


def vector(n: int, dtype: Any) -> CompoundType:
    """The type of vectors of `n` numbers."""
    return CompoundType(_checked(dtype), (int(n),))


def matrix(n: int, m: int, dtype: Any) -> CompoundType:
    """The type of matrices of `n` rows and `m` columns."""
    return CompoundType(_checked(dtype), (int(n), int(m)))


def _checked(dtype: Any) -> Any:
    if settings.default_type(dtype) is None:
        raise TypeError(f"{dtype!r} is not a type of numbers")
    return dtype


__all__ = [
    "f16", "f32", "f64", "float16", "float32", "float64", "i8", "i16", "i32", "i64", "int8", "int16", "int32",
    "int64", "matrix", "u1", "u8", "u16", "u32", "u64", "uint8", "uint16", "uint32", "uint64", "vector",
]  # fmt: skip
