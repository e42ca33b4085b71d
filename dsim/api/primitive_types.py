"""The scalar types, by all their names, and lists of them: ``types.primitive_types``.

Type checkers require classes in annotations, so for them these names are Python's number types:
``n: ds.i32`` takes an int.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    f16 = f32 = f64 = float
    i8 = i16 = i32 = i64 = u8 = u16 = u32 = u64 = int
    u1 = bool
else:
    from dsim.ir.types import f16, f32, f64, i8, i16, i32, i64, u1, u8, u16, u32, u64

float16, float32, float64 = f16, f32, f64
int8, int16, int32, int64 = i8, i16, i32, i64
uint1, uint8, uint16, uint32, uint64 = u1, u8, u16, u32, u64

real_types: list[Any] = [f16, f32, f64, float]
integer_types: list[Any] = [i8, i16, i32, i64, u1, u8, u16, u32, u64, int, bool]
all_types: list[Any] = [*real_types, *integer_types]

__all__ = [
    "all_types", "f16", "f32", "f64", "float16", "float32", "float64", "i8", "i16", "i32", "i64", "int8",
    "int16", "int32", "int64", "integer_types", "real_types", "u1", "u8", "u16", "u32", "u64", "uint1",
    "uint8", "uint16", "uint32", "uint64",
]  # fmt: skip
