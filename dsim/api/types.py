"""Types for annotations and fields: scalars, vectors, matrices and structs."""

from __future__ import annotations

from typing import Any

from dsim.api import primitive_types
from dsim.api.fields import Matrix, Vector
from dsim.api.fields import ndarray as make_ndarray
from dsim.api.primitive_types import (
    f16,
    f32,
    f64,
    float16,
    float32,
    float64,
    i8,
    i16,
    i32,
    i64,
    int8,
    int16,
    int32,
    int64,
    u1,
    u8,
    u16,
    u32,
    u64,
    uint1,
    uint8,
    uint16,
    uint32,
    uint64,
)
from dsim.api.structs import StructType, struct
from dsim.frontend.source.lowered import LoweringSettings
from dsim.frontend.values.types import (
    ArrayType,
    MatrixType,
    Template,
    array_type,
    entry_shape,
    is_template,
    numbers_of,
    scalar_type,
)
from dsim.runtime.fields.fields import Field
from dsim.runtime.fields.host_values.host_numbers import say_wraps
from dsim.runtime.fields.host_values.values import Array
from dsim.runtime.fields.ndarrays import Ndarray
from dsim.runtime.state import settings

template = Template


class CompoundType(MatrixType):
    """A vector or matrix type of fixed size: an annotation, a constructor of values and of fields."""

    __slots__ = ()

    def __call__(self, *values: Any) -> Any:
        """A host vector or matrix of this type; one number fills it.

        Integers outside the type's range wrap around, with a warning.
        """
        made = super().__call__(*values)
        if made.dtype.kind in "iu":
            say_wraps(numbers_of(values), made)
        return Array(made)

    @property
    def n(self) -> int:
        """The number of rows."""
        return self.shape[0]

    @property
    def m(self) -> int:
        """The number of columns; 1 for vectors."""
        return self.shape[1] if len(self.shape) == 2 else 1

    @property
    def ndim(self) -> int:
        """1 for vectors, 2 for matrices."""
        return len(self.shape)

    def get_shape(self) -> tuple[int, ...]:
        """The same as `shape`."""
        return self.shape

    def to_string(self) -> str:
        """Its name in Taichi: ``VectorType[3, f32]``, ``MatrixType[2,3, f32]``."""
        kind = "Vector" if self.ndim == 1 else "Matrix"
        return f"{kind}Type[{','.join(map(str, self.shape))}, {settings.default_type(self.dtype)}]"

    def field(self, shape: Any = None, **options: Any) -> Field:
        """A field with entries of this type; see `field`."""
        if len(self.shape) == 1:
            return Vector.field(self.shape[0], self.dtype, shape, **options)
        return Matrix.field(self.shape[0], self.shape[1], self.dtype, shape, **options)

    def ndarray(self, shape: Any, needs_grad: bool = False) -> Ndarray:
        """An array with elements of this type; see `ndarray`."""
        return make_ndarray(self, shape, needs_grad)


class ndarray(ArrayType):
    """The annotation of a kernel's array parameter: it takes an `ndarray`, a field, or a NumPy array.

    Parameters
    ----------
    dtype : type, optional
        The type of the elements: scalar, vector or matrix. Any without it.
    ndim : int, optional
        The number of axes. Any without it.
    element_dim, element_shape : int, tuple of int, optional
        Taichi's older options for vector or matrix elements.
    needs_grad : bool, optional
        With True, only arrays with a gradient may be passed. With False, derivatives of both modes stop at
        the array, even if it has a gradient.
    field_dim : int, optional
        Taichi's older name of `ndim`.
    boundary : str, optional
        The treatment of an index outside the array, or outside a vector or matrix in it, ``v[i][k]``: with
        ``"unsafe"``, Taichi's name, it is an error; with ``"clamp"`` it is clamped to the nearest element.

    Examples
    --------
    >>> import numpy as np
    >>> import dsim as ti
    >>> @ti.kernel
    ... def halve(x: ti.types.ndarray(dtype=ti.f64, ndim=1)):
    ...     for i in x:
    ...         x[i] /= 2
    >>> a = np.array([1.0, 3.0])
    >>> halve(a)
    >>> a
    array([0.5, 1.5])
    """

    def __init__(
        self,
        dtype: Any = None,
        ndim: int | None = None,
        element_dim: int | None = None,
        element_shape: Any = None,
        field_dim: int | None = None,
        needs_grad: bool | None = None,
        boundary: str = "unsafe",
    ) -> None:
        if boundary not in ("unsafe", "clamp"):
            raise ValueError(f"boundary is 'unsafe' or 'clamp', got {boundary!r}")
        if isinstance(dtype, OpenType):
            if element_dim is not None or element_shape is not None:
                raise TypeError("the element's shape is given twice: by `dtype` and by `element_…`")
            dtype, element_dim, element_shape = dtype.dtype, dtype.element_dim, dtype.element_shape
        ndim, clamped = field_dim if ndim is None else ndim, boundary == "clamp"
        super().__init__(dtype, ndim, element_dim, element_shape, needs_grad, clamped)

    def __class_getitem__(cls, arguments: Any) -> ndarray:
        """``NDArray[f32, 2]``: the element type and the number of axes."""
        return cls(*arguments) if isinstance(arguments, tuple) else cls(arguments)


NDArray = ndarray


class OpenType:
    """A vector or matrix type with unspecified size or scalar type, which constrains an array's elements."""

    def __init__(self, dtype: Any, counts: tuple[int | None, ...]) -> None:
        self.dtype = None if dtype is None else _checked(dtype)
        self.element_dim = len(counts)
        self.element_shape = None if None in counts else entry_shape(*counts)
        if self.element_shape is None and counts != (None,) * len(counts):
            raise TypeError("give rows and columns, or neither of them")


def vector(n: int | None = None, dtype: Any = None) -> Any:
    """The type of vectors of `n` numbers.

    An omitted size or type matches any; such a type constrains the elements of a kernel's array parameter.

    Examples
    --------
    >>> import dsim as ti
    >>> ti.types.vector(3, ti.f32).to_string()
    'VectorType[3, f32]'
    >>> @ti.kernel
    ... def first(x: ti.types.ndarray(dtype=ti.types.vector(), ndim=1)) -> ti.f64:
    ...     return x[0][0]
    >>> first(ti.Vector.ndarray(3, ti.f64, shape=2))
    0.0
    """
    if n is None or dtype is None:
        return OpenType(dtype, (n,))
    return CompoundType(_checked(dtype), entry_shape(n))


def matrix(n: int | None = None, m: int | None = None, dtype: Any = None) -> Any:
    """The type of matrices of `n` rows and `m` columns; omitted ones as in `vector`."""
    if n is None or m is None or dtype is None:
        return OpenType(dtype, (n, m))
    return CompoundType(_checked(dtype), entry_shape(n, m))


def _checked(dtype: Any) -> Any:
    if settings.default_type(dtype) is None:
        raise TypeError(f"{dtype!r} is not a type of numbers")
    return dtype


def ref(dtype: Any) -> Template:
    """The annotation of a func's parameter that is passed by reference, the same as `template()`.

    Examples
    --------
    >>> import dsim as ti
    >>> @ti.real_func
    ... def double(x: ti.ref(ti.i32)):
    ...     x *= 2
    >>> @ti.kernel
    ... def run() -> int:
    ...     a = 3
    ...     double(a)
    ...     return a
    >>> run()
    6
    """
    _checked(dtype)
    return Template()


def argpack(**members: Any) -> StructType:
    """Taichi's argument packs: a struct type for the annotation of one parameter.

    Arrays cannot be members: pass them as separate parameters.

    Examples
    --------
    >>> import dsim as ti
    >>> Options = ti.types.argpack(dt=ti.f32, gravity=ti.math.vec2)
    >>> @ti.kernel
    ... def fall(options: Options) -> ti.f32:
    ...     return options.dt * options.gravity.y
    >>> fall(Options(dt=0.5, gravity=[0.0, -10.0]))
    -5.0
    """
    for name, t in members.items():
        if array_type(t) is not None or is_template(t):
            raise TypeError(
                f"the member `{name}` of a pack cannot be an array or template: make it a parameter"
            )
    return struct(**members)


def is_integral(dtype: Any) -> bool:
    """Whether `dtype` is an integer type, which `u1` is, as in Taichi.

    Examples
    --------
    >>> is_integral(i32), is_integral(float)
    (True, False)
    """
    found = scalar_type(dtype, LoweringSettings())
    return found is not None and not found.is_float


def is_real(dtype: Any) -> bool:
    """Whether `dtype` is a floating-point type."""
    found = scalar_type(dtype, LoweringSettings())
    return found is not None and found.is_float


def is_signed(dtype: Any) -> bool:
    """Whether `dtype` is a signed integer type."""
    found = scalar_type(dtype, LoweringSettings())
    return found is not None and found.kind == "int"


def is_tensor(dtype: Any) -> bool:
    """Whether `dtype` is a vector or matrix type."""
    return isinstance(dtype, MatrixType)


__all__ = [
    "NDArray", "argpack", "f16", "f32", "f64", "float16", "float32", "float64", "i8", "i16", "i32", "i64",
    "int8", "int16", "int32", "int64", "is_integral", "is_real", "is_signed", "is_tensor", "matrix",
    "ndarray", "primitive_types", "ref", "struct", "template", "u1", "u8", "u16", "u32", "u64", "uint1",
    "uint8", "uint16", "uint32", "uint64", "vector",
]  # fmt: skip
