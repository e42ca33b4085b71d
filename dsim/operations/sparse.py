"""Sparse linear systems: SuperLU by SciPy, which is imported at the first call."""

from __future__ import annotations

from typing import Any

import numpy as np

from dsim.api.ad import operation
from dsim.diagnostics import Diagnostic, LaunchTypeError
from dsim.runtime.operations.elements import places, scatter_add, take


@operation
def sparse_solve(values: Any, rows: Any, columns: Any, b: Any, *, layout: str = "coo") -> Any:
    """The solution of ``A @ x = b`` for a sparse matrix, whose numbers lie in a field.

    Parameters
    ----------
    values : array or field
        The stored numbers, in any shape.
    rows, columns : integer array or field
        With ``layout="coo"``, the row and column of each stored number; numbers at one place are added, as
        in the assembly of finite elements. With ``"csr"``, `rows` are the ``indptr``: n + 1 numbers.
    b : (n,) or (n, k) array or field
        One right-hand side, or several as columns.
    layout : {"coo", "csr"}
        How the places are given.

    Raises
    ------
    LaunchTypeError
        When `rows` or `columns` are no integers, or there is no such layout.
    RuntimeError
        When the matrix is singular.

    Examples
    --------
    >>> import numpy as np
    >>> import dsim as ti
    >>> diagonal = np.array([2.0, 4.0])
    >>> ti.operations.sparse_solve(diagonal, np.array([0, 1]), np.array([0, 1]), np.ones(2))
    array([0.5 , 0.25])
    """
    from scipy.sparse import coo_matrix  # noqa: PLC0415 (takes long)
    from scipy.sparse.linalg import splu  # noqa: PLC0415

    _check_layout(layout)
    n, count = len(b), np.size(values)
    rows, columns = (places(a, name, "sparse_solve") for a, name in ((rows, "rows"), (columns, "columns")))
    at = (_expanded(rows, count) if layout == "csr" else np.ravel(rows), np.ravel(columns))
    matrix = coo_matrix((np.ravel(values), at), shape=(n, n)).tocsc()
    return splu(matrix).solve(np.asarray(b, matrix.dtype))


def _check_layout(layout: Any) -> None:
    if layout not in ("coo", "csr"):
        message = f'`layout` of `sparse_solve` is "coo" or "csr", not {layout!r}'
        advice = '"coo" takes the row of each number, "csr" where the numbers of each row begin'
        raise LaunchTypeError(Diagnostic("argument", message, help=advice))


def _expanded(starts: Any, count: int) -> Any:
    """The row of each stored number, from where rows start."""
    return np.searchsorted(starts, np.arange(count), side="right") - 1


@operation
def row_numbers(starts: Any, *, count: int) -> Any:
    """The row of each of `count` stored numbers, where rows begin at `starts`."""
    return _expanded(starts, count)


def _places(values: Any, rows: Any, columns: Any, layout: str) -> tuple[Any, Any]:
    if layout == "csr":
        return row_numbers(rows, count=values.size), columns.reshape(-1)
    return rows.reshape(-1), columns.reshape(-1)


@sparse_solve.jvp
def _(values: Any, rows: Any, columns: Any, b: Any, /, *, out: Any, tangents: Any, layout: str) -> Any:
    d_values, _, _, db = tangents
    rows, columns = _places(values, rows, columns, layout)
    by_column = d_values.reshape((-1,) + (1,) * (out.ndim - 1)) * take(out, columns)
    product = scatter_add(by_column, rows, length=b.shape[0])
    return sparse_solve(values.reshape(-1), rows, columns, db - product)


@sparse_solve.vjp
def _(values: Any, rows: Any, columns: Any, b: Any, /, *, out: Any, adjoint: Any, layout: str) -> Any:
    rows, columns = _places(values, rows, columns, layout)
    found = sparse_solve(values.reshape(-1), columns, rows, adjoint)
    products = (take(found, rows) * take(out, columns)).reshape(values.size, -1)
    return -products.sum(axis=1).reshape(values.shape), None, None, found
