"""The scalar types of the kernel language and how they combine. Vectors never reach the IR."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import numpy as np


@dataclass(frozen=True, slots=True, eq=False)
class ScalarType:
    """A scalar type: its kind and its width in bits.

    A call inside a kernel (``ti.f32(x)``) is a cast.

    Attributes
    ----------
    numpy : dtype
        The NumPy dtype of the same values.
    is_float : bool
        Whether this is a float type: only floats have derivatives.
    is_integer : bool
        Whether this is a signed or unsigned integer (a bool is not).
    """

    name: str
    kind: Literal["float", "int", "uint", "bool"]
    bits: int
    numpy: np.dtype = field(init=False)
    is_float: bool = field(init=False)
    is_integer: bool = field(init=False)

    def __post_init__(self) -> None:
        dtype = np.dtype("bool" if self.kind == "bool" else f"{self.kind}{self.bits}")
        object.__setattr__(self, "numpy", dtype)
        object.__setattr__(self, "is_float", self.kind == "float")
        object.__setattr__(self, "is_integer", self.kind in ("int", "uint"))

    def __call__(self, value: object) -> object:
        """`value` as a NumPy scalar of this type (outside kernels; inside it is a cast)."""
        return self.numpy.type(value)

    def __str__(self) -> str:
        return self.name

    def __reduce__(self) -> str:
        return self.name  # each type is one object, also after pickling and copying

    def __hash__(self) -> int:
        return hash(self.name)  # types are often dict keys, and a string caches its hash

    def __repr__(self) -> str:
        return self.name


f16 = ScalarType("f16", "float", 16)
f32 = ScalarType("f32", "float", 32)
f64 = ScalarType("f64", "float", 64)
i8 = ScalarType("i8", "int", 8)
i16 = ScalarType("i16", "int", 16)
i32 = ScalarType("i32", "int", 32)
i64 = ScalarType("i64", "int", 64)
u8 = ScalarType("u8", "uint", 8)
u16 = ScalarType("u16", "uint", 16)
u32 = ScalarType("u32", "uint", 32)
u64 = ScalarType("u64", "uint", 64)
u1 = ScalarType("u1", "bool", 1)

ALL: tuple[ScalarType, ...] = (f16, f32, f64, i8, i16, i32, i64, u8, u16, u32, u64, u1)
BY_NAME: dict[str, ScalarType] = {t.name: t for t in ALL}
_BY_NUMPY: dict[np.dtype, ScalarType] = {t.numpy: t for t in ALL}


def from_numpy(dtype: object) -> ScalarType:
    """The scalar type of a NumPy dtype.

    Raises
    ------
    KeyError
        When kernels have no such type (complex numbers, strings).
    """
    return _BY_NUMPY[np.dtype(dtype)]  # type: ignore[arg-type]


def is_known(dtype: object) -> bool:
    """Whether there is a scalar type of a NumPy dtype."""
    return np.dtype(dtype) in _BY_NUMPY  # type: ignore[arg-type]


def promote(a: ScalarType, b: ScalarType) -> ScalarType:
    """The type in which an operation on operands of types `a` and `b` is computed.

    A float wins over an integer whatever their widths; of two floats, and of two integers of one
    signedness, the wider wins; of a signed and an unsigned integer the wider wins and, at equal
    width, the unsigned one (as in C and Taichi). A bool counts as an i32, also with another bool.

    >>> promote(i64, f32), promote(i32, u32), promote(u1, u1)
    (f32, u32, i32)
    """
    a, b = (i32 if t.kind == "bool" else t for t in (a, b))
    if a.is_float != b.is_float:
        return a if a.is_float else b
    if a.bits != b.bits:
        return a if a.bits > b.bits else b
    return a if a.kind == "uint" else b
