"""Factorised Jacobians, and how near they are to singular ones.

Rows and columns are scaled first, by powers of two: the units of an equation say nothing of whether it has a
solution. A matrix that is singular but for rounding then has a reciprocal condition number below the rounding
of its numbers.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import LinAlgError, LinAlgWarning, lu_factor, lu_solve
from scipy.sparse import csr_array
from scipy.sparse.linalg import splu

_NOTHING = "all derivatives of the residual by the unknown are 0, as where no kernel computes it from that"
_ROW = "all derivatives of the residual's number {} by the unknown are 0"
_COLUMN = "all derivatives of the residual by the unknown's number {} are 0"
Solve = Callable[[np.ndarray, bool], np.ndarray]


class SingularError(Exception):
    """A matrix has no inverse, or none in the numbers that it is made of."""


class Factors(NamedTuple):
    """A factorised matrix.

    Attributes
    ----------
    solve : callable
        The solution for a right-hand side, of the matrix or of its transpose.
    reciprocal : float
        An upper bound of the reciprocal condition number in the norm 1, of the scaled matrix.
    rows, columns : ndarray
        The factors by which rows and columns were scaled: in units of a row, its equation has coefficients
        around 1.
    """

    solve: Solve
    reciprocal: float
    rows: np.ndarray
    columns: np.ndarray


def dense(matrix: np.ndarray) -> Factors:
    """Factors of a square array.

    Raises
    ------
    SingularError
        When a row, a column, or a diagonal number of the factors is 0, or a number is not finite.
    """
    rows = _scales(np.abs(matrix).max(axis=1), _ROW)
    scaled = matrix * rows[:, None]
    columns = _scales(np.abs(scaled).max(axis=0), _COLUMN)
    scaled = scaled * columns
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", LinAlgWarning)  # a diagonal element of 0
            factors = lu_factor(scaled)
    except (LinAlgError, LinAlgWarning, ValueError) as wrong:
        raise SingularError(str(wrong).rstrip(".")) from None

    def solve(right: np.ndarray, transposed: bool) -> np.ndarray:
        return lu_solve(factors, right, trans=int(transposed), check_finite=False)

    return _unscaled(solve, rows, columns, np.abs(scaled).sum(axis=0).max())


def sparse(matrix: csr_array) -> Factors:
    """Factors of a sparse matrix; raises as `dense`."""
    if not np.isfinite(matrix.data).all():
        raise SingularError("array must not contain infs or NaNs")
    count, column = len(matrix.indptr) - 1, matrix.indices
    row = np.repeat(np.arange(count), np.diff(matrix.indptr))
    rows = _scales(_largest(matrix.data, row, count), _ROW)
    data = matrix.data * rows[row]
    columns = _scales(_largest(data, column, count), _COLUMN)
    data = data * columns[column]
    try:
        factors = splu(csr_array((data, column, matrix.indptr), shape=matrix.shape).tocsc())
    except RuntimeError as wrong:  # a singular matrix
        raise SingularError(str(wrong).rstrip(".")) from None

    def solve(right: np.ndarray, transposed: bool) -> np.ndarray:
        return factors.solve(right, "T" if transposed else "N")

    return _unscaled(solve, rows, columns, np.bincount(column, np.abs(data)).max())


def _largest(numbers: np.ndarray, group: np.ndarray, count: int) -> np.ndarray:
    """The largest absolute value of each group."""
    found = np.zeros(count)
    np.maximum.at(found, group, np.abs(numbers))
    return found


def _scales(largest: np.ndarray, of: str) -> np.ndarray:
    """Powers of two that bring numbers to between 1/2 and 1; 1 for what is not finite."""
    empty = np.flatnonzero(largest == 0)
    if len(empty):
        raise SingularError(_NOTHING if len(empty) == len(largest) else of.format(empty[0]))
    return np.ldexp(1.0, -np.frexp(largest)[1])


def _unscaled(solve: Solve, rows: np.ndarray, columns: np.ndarray, norm: float) -> Factors:
    """Factors of the matrix whose scaled one, of this norm, `solve` solves."""

    def solved(right: np.ndarray, transposed: bool) -> np.ndarray:
        before, after = (columns, rows) if transposed else (rows, columns)
        return after * solve(before * right, transposed)

    return Factors(solved, _reciprocal(solve, len(rows), norm), rows, columns)


def _reciprocal(solve: Solve, size: int, norm: float) -> float:
    """An upper bound of 1 / (norm · norm of the inverse), by a step of Hager's method from random signs.

    Hager (1984), Condition estimates, SIAM J. Sci. Stat. Comput. 5, 311-316.
    """
    signs = np.random.default_rng(size).choice([-1.0, 1.0], size)
    solution = solve(signs, False)
    if not np.isfinite(solution).all():
        return 0.0
    back = solve(np.where(solution < 0, -1.0, 1.0), True)
    inverse = max(np.abs(solution).sum() / size, np.abs(back).max())
    return float(1 / (norm * inverse)) if np.isfinite(inverse) and norm * inverse else 0.0


def null_direction(operator: Any, solve: Callable[[np.ndarray], np.ndarray], size: int) -> bool:
    """Whether a direction is found that the operator takes to 0: what iterates need not notice it.

    A solution for the product with a known vector differs from that vector by such a direction, or by what
    the iteration leaves. Only the first is 0 to the operator.
    """
    vector = np.random.default_rng(size).normal(size=size)
    product = operator.matvec(vector)
    left = vector - solve(product)
    if not np.isfinite(left).all() or np.linalg.norm(left) <= 1e-4 * np.linalg.norm(vector):
        return False
    rate = np.linalg.norm(product) / np.linalg.norm(vector)
    return bool(np.linalg.norm(operator.matvec(left)) <= 1e-9 * rate * np.linalg.norm(left))
