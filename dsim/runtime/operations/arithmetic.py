"""What operators and NumPy's functions do to traced arrays: operations, with rules written in one another."""

from __future__ import annotations

from typing import Any

import numpy as np

from dsim.runtime.operations.operation import Operation
from dsim.runtime.operations.traced_arrays import OPERATORS, TracedArray

# -- shapes


def _operation(function: Any) -> Operation:
    return Operation(function, check=False)


def _of_shape(array: Any, shape: tuple[int, ...]) -> Any:
    """The adjoint of what was broadcast from `shape`: sums over the axes that were."""
    lead = array.ndim - len(shape)
    axes = tuple(n for n in range(array.ndim) if n < lead or (shape[n - lead] == 1 and array.shape[n] != 1))
    return (array.sum(axis=axes) if axes else array).reshape(shape)


@_operation
def reshape(x: Any, *, shape: tuple[int, ...]) -> Any:
    """``np.reshape``."""
    return np.reshape(x, shape)


@reshape.jvp
def _(x: Any, /, *, tangents: Any, shape: tuple[int, ...]) -> Any:
    return tangents[0].reshape(shape)


@reshape.vjp
def _(x: Any, /, *, adjoint: Any, shape: tuple[int, ...]) -> Any:
    return adjoint.reshape(x.shape)


@_operation
def transpose(x: Any, *, axes: tuple[int, ...] | None = None) -> Any:
    """``np.transpose``."""
    return np.transpose(x, axes)


@transpose.jvp
def _(x: Any, /, *, tangents: Any, axes: tuple[int, ...] | None) -> Any:
    return tangents[0].transpose(*(() if axes is None else (axes,)))


@transpose.vjp
def _(x: Any, /, *, adjoint: Any, axes: tuple[int, ...] | None) -> Any:
    if axes is None:
        return adjoint.T
    positive = [a % len(axes) for a in axes]
    return adjoint.transpose(tuple(positive.index(n) for n in range(len(axes))))


@_operation
def total(x: Any, *, axis: Any = None, keepdims: bool = False) -> Any:
    """``np.sum``."""
    return np.sum(x, axis=axis, keepdims=keepdims)


@total.jvp
def _(x: Any, /, *, tangents: Any, axis: Any, keepdims: bool) -> Any:
    return tangents[0].sum(axis=axis, keepdims=keepdims)


@total.vjp
def _(x: Any, /, *, adjoint: Any, axis: Any, keepdims: bool) -> Any:
    axes = range(x.ndim) if axis is None else [a % x.ndim for a in np.atleast_1d(axis)]
    kept = tuple(1 if n in axes else length for n, length in enumerate(x.shape))
    return adjoint.reshape(kept) * np.ones(x.shape, x.dtype)


# -- arithmetic


@_operation
def add(a: Any, b: Any) -> Any:
    """``a + b``."""
    return np.add(a, b)


@add.jvp
def _(a: Any, b: Any, /, *, out: Any, tangents: Any) -> Any:
    return _sum_like(out.shape, *tangents)


@add.vjp
def _(a: Any, b: Any, /, *, adjoint: Any) -> Any:
    return _of_shape(adjoint, a.shape), _of_shape(adjoint, b.shape)


@_operation
def subtract(a: Any, b: Any) -> Any:
    """``a - b``."""
    return np.subtract(a, b)


@subtract.jvp
def _(a: Any, b: Any, /, *, out: Any, tangents: Any) -> Any:
    da, db = tangents
    return _sum_like(out.shape, da, None if db is None else -db)


@subtract.vjp
def _(a: Any, b: Any, /, *, adjoint: Any) -> Any:
    return _of_shape(adjoint, a.shape), _of_shape(-adjoint, b.shape)


def _sum_like(shape: tuple[int, ...], *parts: Any) -> Any:
    """The sum of the parts that are not None, of a shape to which they may be broadcast."""
    found: Any = None
    for part in parts:
        if part is not None:
            found = part if found is None else found + part
    return found if found is None or found.shape == shape else found * np.ones(shape, found.dtype)


@_operation
def multiply(a: Any, b: Any) -> Any:
    """``a * b``."""
    return np.multiply(a, b)


@multiply.jvp
def _(a: Any, b: Any, /, *, out: Any, tangents: Any) -> Any:
    da, db = tangents
    return _sum_like(out.shape, None if da is None else da * b, None if db is None else a * db)


@multiply.vjp
def _(a: Any, b: Any, /, *, adjoint: Any) -> Any:
    return _of_shape(adjoint * b, a.shape), _of_shape(adjoint * a, b.shape)


@_operation
def divide(a: Any, b: Any) -> Any:
    """``a / b``."""
    return np.divide(a, b)


@divide.jvp
def _(a: Any, b: Any, /, *, out: Any, tangents: Any) -> Any:
    da, db = tangents
    return _sum_like(out.shape, None if da is None else da / b, None if db is None else -(out / b) * db)


@divide.vjp
def _(a: Any, b: Any, /, *, out: Any, adjoint: Any) -> Any:
    return _of_shape(adjoint / b, a.shape), _of_shape(-(adjoint * out) / b, b.shape)


@_operation
def negative(a: Any) -> Any:
    """``-a``."""
    return np.negative(a)


@negative.jvp
def _(a: Any, /, *, tangents: Any) -> Any:
    return -tangents[0]


@negative.vjp
def _(a: Any, /, *, adjoint: Any) -> Any:
    return -adjoint


@_operation
def power(a: Any, *, exponent: float) -> Any:
    """``a ** exponent``, for a constant exponent."""
    return np.power(a, exponent)


@power.jvp
def _(a: Any, /, *, tangents: Any, exponent: float) -> Any:
    return tangents[0] * _slope(a, exponent)


@power.vjp
def _(a: Any, /, *, adjoint: Any, exponent: float) -> Any:
    return adjoint * _slope(a, exponent)


def _slope(a: Any, exponent: float) -> Any:
    if exponent in (0, 1):
        return np.full(a.shape, exponent, a.dtype)
    return exponent * (a if exponent == 2 else a ** (exponent - 1))


@_operation
def matmul(a: Any, b: Any) -> Any:
    """``a @ b``."""
    return np.matmul(a, b)


@matmul.jvp
def _(a: Any, b: Any, /, *, tangents: Any) -> Any:
    da, db = tangents
    return da @ b + a @ db


@matmul.vjp
def _(a: Any, b: Any, /, *, adjoint: Any) -> Any:
    rows = a.reshape(1, -1) if a.ndim == 1 else a
    columns = b.reshape(-1, 1) if b.ndim == 1 else b
    shape = adjoint.shape
    if a.ndim == 1:
        shape = (*shape[: adjoint.ndim - (b.ndim > 1)], 1, *shape[adjoint.ndim - (b.ndim > 1) :])
    wide = adjoint.reshape((*shape, 1) if b.ndim == 1 else shape)
    return _as(wide @ columns.mT, rows, a), _as(rows.mT @ wide, columns, b)


def _as(found: Any, wide: Any, given: Any) -> Any:
    """The adjoint of an operand, which may be a vector, from that of a matrix."""
    return _of_shape(found, wide.shape).reshape(given.shape)


@_operation
def linear_map(x: Any, *, matrix: Any) -> Any:
    """``matrix @ x`` for a constant matrix, of any kind."""
    return matrix @ x


@linear_map.jvp
def _(x: Any, /, *, tangents: Any, matrix: Any) -> Any:
    return linear_map(tangents[0], matrix=matrix)


@linear_map.vjp
def _(x: Any, /, *, adjoint: Any, matrix: Any) -> Any:
    return linear_map(adjoint, matrix=matrix.T)


# -- the table


def _plain(x: Any, like: Any) -> Any:
    """`x`; a Python number takes the type of the array beside it, as in NumPy."""
    if isinstance(x, int | float) and isinstance(like, TracedArray) and like.dtype.kind == "f":
        return np.asarray(x, like.dtype)
    return x


def _binary(known: Operation) -> Any:
    return lambda a, b: known(_plain(a, b), _plain(b, a))


def _power(a: Any, exponent: Any) -> Any:
    if isinstance(a, TracedArray) and isinstance(exponent, int | float):
        return power(a, exponent=exponent)
    return np.exp(exponent * np.log(a)) if isinstance(a, TracedArray) else np.exp(exponent * float(np.log(a)))


def _swapaxes(x: Any, a: int, b: int) -> Any:
    axes = list(range(x.ndim))
    axes[a], axes[b] = axes[b], axes[a]
    return transpose(x, axes=tuple(axes))


OPERATORS.update(
    {
        np.add: _binary(add),
        np.subtract: _binary(subtract),
        np.multiply: _binary(multiply),
        np.divide: _binary(divide),
        np.matmul: matmul,
        np.dot: matmul,
        np.negative: negative,
        np.power: _power,
        np.transpose: lambda x, axes=None: transpose(x, axes=axes),
        np.swapaxes: _swapaxes,
        np.reshape: lambda x, shape: reshape(x, shape=shape if isinstance(shape, tuple) else (shape,)),
        np.sum: lambda x, axis=None, keepdims=False: total(x, axis=axis, keepdims=keepdims),
        np.outer: lambda a, b: a.reshape(-1, 1) @ b.reshape(1, -1),
        "linear_map": linear_map,
    }
)
