"""Constructors of fields and ndarrays: `field`, `ndarray`, those of `Vector` and `Matrix`; layout names."""

from __future__ import annotations

import functools
from typing import Any

from dsim.diagnostics.frames import outermost
from dsim.frontend.expressions.matrices import METHODS
from dsim.frontend.source.struct_types import StructTypeBase
from dsim.frontend.values.types import MatrixType, entry_shape
from dsim.ir.types import ScalarType, from_numpy
from dsim.runtime.fields import layout
from dsim.runtime.fields.fields import BAR, DOT, Field
from dsim.runtime.fields.host_values import values
from dsim.runtime.fields.ndarrays import Ndarray
from dsim.runtime.state import settings


@outermost
def field(
    dtype: Any,
    shape: Any = None,
    order: str | None = None,
    name: str = "",
    offset: Any = None,
    needs_grad: bool = False,
    needs_dual: bool = False,
) -> Field:
    """A field of numbers: typed memory that kernels read and write by index.

    Parameters
    ----------
    dtype : ScalarType, or type of vectors or matrices
        The type of an entry; Python's `float` and `int` mean the default types.
    shape : int or tuple of int, optional
        ``()`` for a single number. Without it the field must be placed: ``root.dense(i, n).place(x)``.
    order : str, optional
        Hint about memory order, as in Taichi; indices mean the same with any.
    offset : int or tuple of int, optional
        The first index along each axis, 0 without it; it may be negative.
    name : str, optional
        Its name in messages; by default the name by which a kernel first referred to it.
    needs_grad, needs_dual : bool
        Whether it has a gradient (``x.grad``) or a tangent (``x.dual``).

    Raises
    ------
    TypeError, ValueError
        For a type that is none, or a shape that is not of positive integers.
    """
    entry = ()
    if isinstance(dtype, MatrixType):
        dtype, entry = dtype.dtype, dtype.shape
    _check_order(order, shape)
    return made_of(dtype, entry, shape, name, offset, needs_grad, needs_dual)


def _check_order(order: str | None, shape: Any) -> None:
    """Raises a `ValueError` unless `order` names each axis of `shape` once."""
    if order is None:
        return
    axes = "ijklmnop"[: len(layout.shape_of(shape))] if shape is not None else ""
    if sorted(order) != sorted(axes):
        needs = (
            f"`order=` names each of the axes {', '.join(axes)} once" if axes else "`order=` needs `shape=`"
        )
        raise ValueError(f"{needs}, got {order!r}")


@outermost
def ndarray(dtype: Any, shape: Any, needs_grad: bool = False) -> Ndarray:
    """An array that is passed to kernels: to parameters annotated ``types.ndarray(…)``.

    Parameters
    ----------
    dtype : ScalarType, or type of vectors or matrices
        The type of an element: ``f32``, ``types.vector(3, f32)``, ``math.vec2``.
    shape : int or tuple of int
        ``()`` for a single element.
    needs_grad : bool
        Whether it has a gradient.

    Raises
    ------
    TypeError, ValueError
        For a type that is none, or a shape that is not of positive integers.

    Examples
    --------
    >>> import dsim as ti
    >>> a = ti.ndarray(ti.f32, shape=3)
    >>> @ti.kernel
    ... def count(x: ti.types.ndarray()):
    ...     for i in x:
    ...         x[i] = 2 * i
    >>> count(a)
    >>> a.to_numpy().tolist()
    [0.0, 2.0, 4.0]
    """
    if isinstance(dtype, MatrixType):
        return _array(dtype.dtype, dtype.shape, shape, needs_grad)
    return _array(dtype, (), shape, needs_grad)


def _array(dtype: Any, entry: tuple[int, ...], shape: Any, needs_grad: bool) -> Ndarray:
    made = Ndarray(type_of(dtype), entry, "")
    _check_float(made.dtype, needs_grad)
    made.give(layout.shape_of(shape))
    if needs_grad:
        made.want(BAR)
    return made


def _check_float(scalar: ScalarType, derivatives: bool) -> None:
    if derivatives and not scalar.is_float:
        raise TypeError(
            f"a field of {scalar} has no derivatives: needs_grad and needs_dual are for float fields"
        )


def made_of(
    dtype: Any, entry: tuple[int, ...], shape: Any, name: str, offset: Any, needs_grad: bool, needs_dual: bool
) -> Field:
    """A field of `dtype` with entries of shape `entry`; see `field`."""
    scalar = type_of(dtype)
    _check_float(scalar, needs_grad or needs_dual)
    if offset is not None and shape is None:
        raise ValueError("`offset=` needs `shape=`; without it, give the offset to `place(x, offset=…)`")
    made = Field(scalar, entry, name)
    for wanted, derivative in ((needs_grad, BAR), (needs_dual, DOT)):
        if wanted:
            made.want(derivative)
    if shape is not None:
        layout.place_at(made, shape, offset)
    return made


def type_of(dtype: Any) -> ScalarType:
    """The scalar type that `dtype` denotes.

    Raises
    ------
    TypeError
        When it is not a scalar type.
    """
    found = settings.default_type(dtype)
    if found is not None:
        return found
    if isinstance(dtype, StructTypeBase):
        raise TypeError(
            "structs cannot be elements here: make a field of structs by `Struct.field` or `T.field`"
        )
    try:
        return from_numpy(dtype)
    except (KeyError, TypeError):
        raise TypeError(f"{dtype!r} is not a type of numbers that kernels support") from None


class _HostKind(type(values.Array)):
    """Makes every host vector or matrix an instance of `Vector` or `Matrix` for `isinstance`."""

    def __instancecheck__(cls, instance: object) -> bool:
        axes = cls.__dict__["_axes"]
        return isinstance(instance, values.Array) and instance.ndim in axes


class Matrix(values.Array, metaclass=_HostKind):
    """A matrix of fixed size: in kernels a local value, outside a small array; ``Matrix.field`` makes fields.

    Examples
    --------
    >>> Matrix([[1.0, 2.0], [3.0, 4.0]]) @ Matrix([1.0, 1.0])
    [3.0, 7.0]
    """

    __slots__ = ()
    _builtin_name = "Matrix"
    _axes = (1, 2)

    @staticmethod
    @outermost
    def field(
        n: int,
        m: int,
        dtype: Any,
        shape: Any = None,
        order: str | None = None,
        name: str = "",
        offset: Any = None,
        needs_grad: bool = False,
        needs_dual: bool = False,
        layout: Any = None,
    ) -> Field:
        """A field of `n` × `m` matrices; see `field`."""
        _check_order(order, shape)
        return made_of(dtype, entry_shape(n, m), shape, name, offset, needs_grad, needs_dual)

    @staticmethod
    @outermost
    def ndarray(n: int, m: int, dtype: Any, shape: Any, needs_grad: bool = False) -> Ndarray:
        """An ndarray of `n` × `m` matrices; see `ndarray`."""
        return _array(dtype, entry_shape(n, m), shape, needs_grad)


class Vector(values.Array, metaclass=_HostKind):
    """A vector of fixed size: in kernels a local value, outside a small array.

    ``Vector.field`` makes fields.
    """

    __slots__ = ()
    _builtin_name = "Vector"
    _axes = (1,)

    @staticmethod
    @outermost
    def field(
        n: int,
        dtype: Any,
        shape: Any = None,
        order: str | None = None,
        name: str = "",
        offset: Any = None,
        needs_grad: bool = False,
        needs_dual: bool = False,
        layout: Any = None,
    ) -> Field:
        """A field of vectors of length `n`; see `field`."""
        _check_order(order, shape)
        return made_of(dtype, entry_shape(n), shape, name, offset, needs_grad, needs_dual)

    @staticmethod
    @outermost
    def ndarray(n: int, dtype: Any, shape: Any, needs_grad: bool = False) -> Ndarray:
        """An ndarray of vectors of length `n`; see `ndarray`."""
        return _array(dtype, entry_shape(n), shape, needs_grad)


def _mark(kind: str, *names: str) -> None:
    """Marks the constructors of `kind` with the names by which the frontend resolves them."""
    owner = {"Matrix": Matrix, "Vector": Vector}[kind]
    for name in names:
        maker = getattr(values.Array, name)

        @functools.wraps(maker)
        def made(*args: Any, _maker: Any = maker, **named: Any) -> values.Array:
            return _maker(*args, **named)

        made.__dsim_builtin__ = f"{kind}.{name}"  # type: ignore[attr-defined]
        setattr(owner, name, staticmethod(made))


_mark("Matrix", "zero", "one", "unit", "identity", "diag", "rows", "cols")
_mark("Vector", "zero", "one", "unit", "rows", "cols")
for _name in METHODS:  # ``Vector.normalized(v)`` in a kernel
    getattr(values.Array, _name).__dsim_builtin__ = _name


class Layout:
    """Hint about the memory layout of vector fields, as in Taichi; without effect."""

    AOS = "aos"
    SOA = "soa"


class FieldsBuilder(layout.Tree):
    """A root of its own for placing fields, as in Taichi."""


root = layout.root
