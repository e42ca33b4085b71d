"""Elements of traced arrays, by constant keys or by integers in fields: operations that are linear."""

from __future__ import annotations

from typing import Any

import numpy as np

from dsim.diagnostics import Diagnostic, LaunchTypeError
from dsim.runtime.operations.operation import operation
from dsim.runtime.operations.traced_arrays import OPERATORS, TracedArray


def places(given: Any, name: str, of: str) -> np.ndarray:
    """`given`, the parameter `name` of the operation `of`, as an array of integers.

    Raises
    ------
    LaunchTypeError
        When its numbers are no integers. SciPy would cut their fractions off.
    """
    array = np.asarray(given)
    if array.dtype.kind in "iub":
        return array
    if not array.size:  # of an empty list NumPy makes floats
        return array.astype(np.intp)
    message = f"`{name}` of `{of}` holds places, which are integers: got numbers of type {array.dtype}"
    advice = "make it an integer field, `ds.field(ds.i32, …)`, or convert the array: `.astype(int)`"
    raise LaunchTypeError(Diagnostic("argument", message, help=advice))


def refuse_outside(rows: np.ndarray, low: int, length: int, name: str, of: str) -> None:
    """Refuses places outside of ``low … length - 1`` in `rows`, the parameter `name` of the operation `of`.

    Raises
    ------
    LaunchTypeError
        When there is one.
    """
    wrong = rows[(rows < low) | (rows >= length)]
    if wrong.size and rows.dtype.kind != "b":
        message = f"`{name}` of `{of}` has the place {wrong[0]}: there are {length} rows"
        raise LaunchTypeError(Diagnostic("argument", message, help=f"places are from {low} to {length - 1}"))


@operation(check=False)
def element(x: Any, *, key: Any) -> Any:
    """``x[key]`` for a constant key."""
    return x[key]


@element.jvp
def _(x: Any, /, *, tangents: Any, key: Any) -> Any:
    return tangents[0][key]


@element.vjp
def _(x: Any, /, *, adjoint: Any, key: Any) -> Any:
    return spread(adjoint, key=key, shape=x.shape)


@operation(check=False)
def spread(values: Any, *, key: Any, shape: tuple[int, ...]) -> Any:
    """Zeros of `shape`, with `values` added at a constant key."""
    made = np.zeros(shape, values.dtype)
    np.add.at(made, key, values)
    return made


@spread.jvp
def _(values: Any, /, *, tangents: Any, key: Any, shape: tuple[int, ...]) -> Any:
    return spread(tangents[0], key=key, shape=shape)


@spread.vjp
def _(values: Any, /, *, adjoint: Any, key: Any, shape: tuple[int, ...]) -> Any:
    return adjoint[key]


@operation(check=False)
def take(x: Any, rows: Any) -> Any:
    """``x[rows]``: elements along the first axis, by integers.

    Raises
    ------
    LaunchTypeError
        When `rows` are no integers, or beyond the last one.
    """
    x, rows = np.asarray(x), places(rows, "rows", "take")
    refuse_outside(rows, -len(x), len(x), "rows", "take")
    return x[rows]


@take.jvp
def _(x: Any, rows: Any, /, *, tangents: Any) -> Any:
    return take(tangents[0], rows)


@take.vjp
def _(x: Any, rows: Any, /, *, adjoint: Any) -> Any:
    return scatter_add(adjoint, rows, length=x.shape[0]), None


@operation(check=False)
def scatter_add(values: Any, rows: Any, *, length: int) -> Any:
    """Zeros with `length` rows, to which ``values[i]`` is added in row ``rows[i]``.

    Raises
    ------
    LaunchTypeError
        When `rows` are no integers, or beyond the last one; when `length` is no number of rows.

    Examples
    --------
    >>> import numpy as np
    >>> from dsim import operations
    >>> operations.scatter_add(np.array([1.0, 2.0, 4.0]), np.array([0, 2, 0]), length=3)
    array([5., 0., 2.])
    """
    if not isinstance(length, int | np.integer) or length < 0:
        message = f"`length` of `scatter_add` is a number of rows, got {length!r}"
        raise LaunchTypeError(Diagnostic("argument", message, help="pass an integer, as `length=x.shape[0]`"))
    rows = places(rows, "rows", "scatter_add")
    refuse_outside(rows, -length, length, "rows", "scatter_add")
    made = np.zeros((length, *values.shape[rows.ndim :]), values.dtype)
    np.add.at(made, rows, values)
    return made


@scatter_add.jvp
def _(values: Any, rows: Any, /, *, tangents: Any, length: int) -> Any:
    return scatter_add(tangents[0], rows, length=length)


@scatter_add.vjp
def _(values: Any, rows: Any, /, *, adjoint: Any, length: int) -> Any:
    return take(adjoint, rows), None


def _getitem(x: Any, key: Any) -> Any:
    return take(x, key) if isinstance(key, TracedArray) else element(x, key=key)


OPERATORS["getitem"] = _getitem
