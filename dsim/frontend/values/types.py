"""Types that a user writes: scalar, vector, matrix and struct types, and what counts as one."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dsim.frontend.source.lowered import LoweringSettings
from dsim.frontend.source.struct_types import StructTypeBase
from dsim.frontend.values.values import Opaque, Shape, Value, size
from dsim.ir.types import BY_NAME, ScalarType, from_numpy, u1


def entry_shape(*counts: Any) -> Shape:
    """The checked shape of vectors (one count) or matrices (rows, columns).

    Raises
    ------
    TypeError, ValueError
        When a count is no whole number, or is below 1.
    """
    what = "a vector" if len(counts) == 1 else "a matrix"
    for n in counts:
        try:
            whole = operator.index(n)
        except TypeError:
            raise TypeError(f"the size of {what} must be an integer, not {n!r}") from None
        if whole < 1:
            raise ValueError(f"{what} needs at least one component along every axis, got {whole}")
    return tuple(map(operator.index, counts))


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
        """A host array of this type (outside kernels; inside it makes a local vector or matrix).

        Integers that the type does not hold wrap around.
        """
        dtype = self.dtype.numpy if isinstance(self.dtype, ScalarType) else _host_dtype(self.dtype)
        if dtype.kind in "iu":
            flat = _integers(values or (0,), dtype)
        else:
            flat = np.concatenate([np.ravel(v) for v in values]) if values else np.zeros(1)
        if flat.size == 1:
            flat = np.full(size(self.shape), flat[0])
        return flat.reshape(self.shape).astype(dtype)


def _host_dtype(dtype: Any) -> np.dtype:
    """The widest that the open type `dtype` may come to mean."""
    return np.dtype(np.uint64 if dtype is DefaultUnsigned else dtype)


def numbers_of(values: Iterable[Any]) -> list[Any]:
    """All numbers of what a vector or matrix is made of, in order."""
    return [n for v in values for n in np.ravel(v).tolist()]


def _integers(values: Iterable[Any], dtype: np.dtype) -> np.ndarray:
    """All numbers of `values`, without their fractions, and modulo the range of `dtype`."""
    low, count = int(np.iinfo(dtype).min), 1 << 8 * dtype.itemsize
    return np.array([(int(n) - low) % count + low for n in numbers_of(values)], dtype)


class DefaultUnsigned:
    """Stands for the unsigned integer as wide as `default_ip`, as Python's ``int`` does for that one."""


class Template:
    """The annotation of a func's parameter that takes its argument as it is, compile-time values too."""

    __dsim_template__ = True

    def __repr__(self) -> str:
        return "template()"


class ArrayType:
    """The annotation of a parameter that takes an array: what the array must be like.

    Attributes
    ----------
    dtype : type or None
        The type of its numbers; None for any.
    ndim : int or None
        How many axes indices run over; None for any.
    entry : tuple or None
        The shape of an element, None in it for any length; None for any, which is a number in arrays that
        do not tell.
    needs_grad : bool or None
        True where the array must have a gradient, False where derivatives end at it.
    clamped : bool
        Whether an index outside means the nearest element.
    """

    __dsim_array__ = True

    def __init__(
        self,
        dtype: Any = None,
        ndim: int | None = None,
        element_dim: int | None = None,
        element_shape: Sequence[int] | None = None,
        needs_grad: bool | None = None,
        clamped: bool = False,
    ) -> None:
        if isinstance(dtype, MatrixType):
            if element_dim is not None or element_shape is not None:
                raise TypeError("the element's shape is given twice: by `dtype` and by `element_…`")
            dtype, element_shape = dtype.dtype, dtype.shape
        if dtype is not None and scalar_type(dtype, LoweringSettings()) is None:
            raise TypeError(f"{dtype!r} is not a type of numbers, or of vectors or matrices of them")
        self.dtype = dtype
        self.ndim = None if ndim is None else int(ndim)
        self.entry = _entry(dtype, element_dim, element_shape)
        self.needs_grad = needs_grad
        self.clamped = clamped

    def __repr__(self) -> str:
        given = {"dtype": self.dtype, "ndim": self.ndim, "needs_grad": self.needs_grad}
        return f"ndarray({', '.join(f'{n}={v}' for n, v in given.items() if v is not None)})"

    @property
    def entry_axes(self) -> int:
        """How many of the last axes of a plain array belong to an element."""
        return len(self.entry or ())

    def fits(self, dtype: ScalarType, shape: Shape, entry: Shape, settings: LoweringSettings) -> bool:
        """Whether an array of this type and shape, of such elements, may be passed."""
        return (
            (self.dtype is None or scalar_type(self.dtype, settings) == dtype)
            and (self.ndim is None or self.ndim == len(shape))
            and (self.entry is None or _same_entry(self.entry, entry))
        )

    def describe(self, settings: LoweringSettings) -> str:
        """What it takes, for messages: ``an array of f32 with 2 axes``."""
        of = _elements(
            "numbers" if self.dtype is None else scalar_type(self.dtype, settings), self.entry or ()
        )
        axes = "" if self.ndim is None else f" with {self.ndim} {'axis' if self.ndim == 1 else 'axes'}"
        return f"an array of {of}{axes}"


def _entry(
    dtype: Any, element_dim: int | None, element_shape: Sequence[int] | None
) -> tuple[int | None, ...] | None:
    if element_shape is not None:
        entry: tuple[int | None, ...] = tuple(map(int, element_shape))
        if element_dim is not None and element_dim != len(entry):
            raise ValueError(f"element_dim={element_dim}, but element_shape has {len(entry)} axes")
    elif element_dim is not None:
        entry = (None,) * element_dim
    else:
        return None if dtype is None else ()
    if len(entry) > 2:
        raise ValueError(f"elements are numbers, vectors or matrices: they have no {len(entry)} axes")
    return entry


def _same_entry(wanted: tuple[int | None, ...], given: Shape) -> bool:
    return len(wanted) == len(given) and all(w in (None, g) for w, g in zip(wanted, given, strict=True))


def describe_array(dtype: object, shape: Shape, entry: Shape) -> str:
    """What an array is, for messages: ``an array of f64 of shape (3,)``."""
    return f"an array of {_elements(dtype, tuple(entry))} of shape {tuple(shape)}"


def _elements(dtype: object, entry: tuple[int | None, ...]) -> str:
    if not entry:
        return str(dtype)
    lengths = " × ".join("n" if n is None else str(n) for n in entry)
    return f"{'vectors' if len(entry) == 1 else 'matrices'} of {lengths} {dtype}"


def array_type(annotation: object) -> ArrayType | None:
    """The array type that an annotation is, or None."""
    if isinstance(annotation, type) and issubclass(annotation, ArrayType):
        return annotation()
    return annotation if isinstance(annotation, ArrayType) else None


def is_template(annotation: object) -> bool:
    """Whether a parameter takes its argument as it is."""
    return getattr(annotation, "__dsim_template__", None) is not None


def scalar_type(value: Any, settings: LoweringSettings) -> ScalarType | None:
    """The scalar type that `value` (a type object of some kind) means, or None."""
    if isinstance(value, Opaque):
        value = value.value
    if isinstance(value, ScalarType):
        return value
    known: dict[Any, ScalarType] = {float: settings.default_fp, int: settings.default_ip, bool: u1}
    if value is DefaultUnsigned:
        return unsigned(settings.default_ip)
    if isinstance(value, type) and value in known:
        return known[value]
    if isinstance(value, np.dtype) or (isinstance(value, type) and issubclass(value, np.generic)):
        try:
            return from_numpy(value)
        except (KeyError, TypeError):
            return None
    return None


def unsigned(t: ScalarType) -> ScalarType:
    """The unsigned integer as wide as the integer `t`."""
    return BY_NAME[f"u{t.bits}"]


def matrix_type(value: Value) -> MatrixType | None:
    """The vector or matrix type that `value` is, or None."""
    if isinstance(value, Opaque):
        value = value.value
    return value if isinstance(value, MatrixType) else None


def struct_type(value: Value) -> StructTypeBase | None:
    """The struct type that `value` is, or None."""
    if isinstance(value, Opaque):
        value = value.value
    return value if isinstance(value, StructTypeBase) else None
