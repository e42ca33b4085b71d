"""Linear equations with a Jacobian or its transpose, by SciPy."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import LinAlgError
from scipy.linalg import solve as dense_solve
from scipy.sparse.linalg import LinearOperator, bicgstab, cg, gmres, splu

from dsim.diagnostics import Diagnostic, GradientError

_DENSE = 400  # unknowns up to which "auto" factorises the dense matrix
_ITERATIVE = {"gmres": gmres, "cg": cg, "bicgstab": bicgstab}
_NAMES = ("auto", "direct", "sparse", *_ITERATIVE)


def solved(matrix: Any, right: np.ndarray, solver: Any, transposed: bool, name: str) -> np.ndarray:
    """The solution of linear equations.

    Parameters
    ----------
    matrix : Linearization
        A square one.
    right : ndarray
        The right-hand side.
    solver : str or callable
        See `implicit`.
    transposed : bool
        Whether the equations are those of the transposed matrix.
    name : str
        Of the function whose derivative is computed, for messages.

    Raises
    ------
    GradientError
        When they have no solution, or the solver does not find it.
    """
    if not right.any():
        return np.zeros_like(right)
    operator = matrix.H if transposed else matrix
    size = np.linalg.norm(right)
    right = right / size  # iterative methods stop at absolute tolerances, too
    found = _by(operator, matrix, right, solver, transposed, name)
    left = np.linalg.norm(operator.matvec(found) - right)
    tolerance = 1e3 * float(np.sqrt(np.finfo(matrix.dtype).eps))
    if not left <= tolerance:
        raise _unsolved(name, solver, f"it left a relative residual of {left:.1e}")
    return size * found


def _by(
    operator: LinearOperator, matrix: Any, right: np.ndarray, solver: Any, transposed: bool, name: str
) -> np.ndarray:
    if callable(solver):
        return np.asarray(solver(operator, right), np.float64).reshape(right.shape)
    if solver not in _NAMES:
        known = ", ".join(f'"{n}"' for n in _NAMES)
        message = f"`solver={solver!r}` of `{name}` is none of {known}"
        raise GradientError(
            Diagnostic("argument", message, help="or pass a function of an operator and a vector")
        )
    if solver == "direct" or (solver == "auto" and right.size <= _DENSE):
        dense = matrix.dense().astype(np.float64)
        try:
            return dense_solve(dense.T if transposed else dense, right)
        except (LinAlgError, ValueError) as wrong:
            raise _unsolved(name, solver, str(wrong).rstrip(".")) from None
    if solver == "sparse":
        return _sparsely(matrix, right, transposed, name)
    method = _ITERATIVE["gmres" if solver == "auto" else solver]
    tolerance = max(1e-12, 10 * float(np.finfo(matrix.dtype).eps))
    return method(operator, right, rtol=tolerance, maxiter=10 * right.size)[0]


def _sparsely(matrix: Any, right: np.ndarray, transposed: bool, name: str) -> np.ndarray:
    try:
        factors = splu(matrix.sparse().tocsc().astype(np.float64))
    except RuntimeError as wrong:  # a singular matrix
        raise _unsolved(name, "sparse", str(wrong).rstrip(".")) from None
    return factors.solve(right, "T" if transposed else "N")


def _unsolved(name: str, solver: Any, why: str) -> GradientError:
    called = f'"{solver}"' if isinstance(solver, str) else "the solver"
    message = f"the linear equations for the derivative of `{name}` were not solved by {called}: {why}"
    advice = (
        "the Jacobian of the residual by the unknown must be invertible; `solver=` chooses another method"
    )
    return GradientError(Diagnostic("not-differentiable", message, help=advice))
