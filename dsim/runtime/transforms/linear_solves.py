"""Linear equations with a Jacobian or its transpose, by SciPy."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.linalg import LinearOperator, bicgstab, cg, gmres

from dsim.diagnostics import Diagnostic, GradientError
from dsim.runtime.transforms import factorised

_DENSE = 400  # unknowns up to which "auto" factorises the dense matrix
_RESTARTS = 10  # of GMRES in "auto", before the sparse matrix is factorised
_REFINEMENTS = 10  # at most, of a solution that is not exact enough
_ITERATIVE = {"gmres": gmres, "cg": cg, "bicgstab": bicgstab}
_NAMES = ("auto", "direct", "sparse", *_ITERATIVE)


class KnownEquations:
    """What earlier solutions of the same equations say of the next one.

    Where the Jacobian had entries it has them again. A pattern that has become wrong is noticed, and costs a
    search (`compression.py`).

    Attributes
    ----------
    entries : csr_array or None
        Ones where it had entries.
    stalls : bool
        Whether GMRES has not converged.
    probed : bool
        Whether a method that does not factorise was asked for a direction that the Jacobian takes to 0.
    """

    def __init__(self) -> None:
        self.entries: csr_array | None = None
        self.stalls = False
        self.probed = False

    def learn(self, matrix: csr_array) -> None:
        """Adds the entries of `matrix`, or forgets the others where these outnumber its own."""
        entries = csr_array((np.ones(matrix.nnz), matrix.indices, matrix.indptr), shape=matrix.shape)
        if self.entries is not None and self.entries.shape == entries.shape:
            both = csr_array(self.entries + entries)
            entries = both if both.nnz <= 2 * entries.nnz else entries
        self.entries = entries

    def for_shape(self, shape: tuple[int, int]) -> Any:
        """The pattern to begin with."""
        return self.entries if self.entries is not None and self.entries.shape == shape else "auto"


class LinearEquations:
    """Linear equations with one Jacobian or its transpose; what a method factorises is factorised once.

    Parameters
    ----------
    matrix : Linearization
        A square one.
    solver : str or callable
        See `implicit`.
    name : str
        Of the function whose derivative is computed, for messages.
    known : KnownEquations
        From equal equations before.
    """

    def __init__(self, matrix: Any, solver: Any, name: str, known: KnownEquations) -> None:
        self._matrix, self._solver, self._name, self._known = matrix, solver, name, known
        self._factors: factorised.Factors | None = None

    def solve(self, right: np.ndarray, transposed: bool) -> np.ndarray:
        """The solution for a right-hand side.

        Raises
        ------
        GradientError
            When there is none, or several, or the solver does not find it.
        """
        if not transposed:
            self._require_one(right)
        if not right.any():
            return np.zeros_like(right)
        operator = self._matrix.H if transposed else self._matrix
        units = self._units(right.size, transposed)
        size = np.linalg.norm(units * right)
        right = right / size  # iterative methods stop at absolute tolerances, too
        found = self._solved(operator, right, transposed)
        residual = right - operator.matvec(found)
        left, (enough, tolerance) = np.linalg.norm(units * residual), self._tolerances(right.size)
        for _ in range(_REFINEMENTS):
            if left <= enough or not np.isfinite(left):
                break
            refined = found + left * self._solved(operator, residual / left, transposed)
            residual = right - operator.matvec(refined)
            if not np.linalg.norm(units * residual) <= left / 2:
                break
            found, left = refined, np.linalg.norm(units * residual)
        if not left <= tolerance:
            raise _unsolved(self._name, self._solver, f"it left a relative residual of {left:.1e}")
        return size * found

    def _require_one(self, right: np.ndarray) -> None:
        """Refuses a Jacobian that takes a direction to 0.

        The tangent of a solution has a right-hand side for which there often are solutions nevertheless, all
        of which are no derivative. That of an adjoint has none, and is refused for that.
        """
        if self._factorises(right.size):
            self._factorised(right.size)
        elif right.any() and self._known.probed:
            return
        elif factorised.null_direction(
            self._matrix, lambda b: self._solved(self._matrix, b, False), right.size
        ):
            raise _unsolved(self._name, self._solver, "it takes a direction of the unknowns to 0")
        self._known.probed = True

    def _units(self, size: int, transposed: bool) -> Any:
        """By what residuals of the equations are multiplied, so that those of all units count."""
        if not self._factorises(size):
            return 1.0
        factors = self._factorised(size)
        return factors.columns if transposed else factors.rows

    def _tolerances(self, size: int) -> tuple[float, float]:
        """The residual of a solution that needs no refinement, and the largest one to accept.

        They are for a right-hand side of norm 1. A factorisation leaves what rounding makes of it, which is
        more the nearer the matrix is to a singular one. What iterates may just have stopped.
        """
        eps = float(np.finfo(self._matrix.dtype).eps)
        if self._factorises(size):
            accepted = min(1e3 * eps**0.5, 1e-2)
            return accepted, accepted
        return max(100 * eps, 1e-10), 10 * eps**0.5

    def _factorises(self, size: int) -> bool:
        direct = size <= _DENSE or self._known.stalls
        return self._solver in ("direct", "sparse") or (self._solver == "auto" and direct)

    def _solved(self, operator: LinearOperator, right: np.ndarray, transposed: bool) -> np.ndarray:
        solver = self._solver
        if callable(solver):
            return self._returned(solver(operator, right.copy()), right)  # it may write to what it is given
        if solver not in _NAMES:
            known = ", ".join(f'"{n}"' for n in _NAMES)
            message = f"`solver={solver!r}` of `{self._name}` is none of {known}"
            raise GradientError(
                Diagnostic("argument", message, help="or pass a function of an operator and a vector")
            )
        if self._factorises(right.size):
            return self._factorised(right.size).solve(right, transposed)
        method = _ITERATIVE["gmres" if solver == "auto" else solver]
        tolerance = max(1e-12, 10 * float(np.finfo(self._matrix.dtype).eps))
        most = _RESTARTS if solver == "auto" else 10 * right.size
        found, unfinished = method(operator, right, rtol=tolerance, maxiter=most)
        if not (unfinished and solver == "auto"):
            return found
        self._known.stalls = True
        return self._solved(operator, right, transposed)

    def _returned(self, found: Any, right: np.ndarray) -> np.ndarray:
        try:
            solution = np.asarray(found)
        except ValueError:  # sequences of other lengths in it
            solution = np.empty(0)
        if solution.dtype.kind in "fiu" and solution.size == right.size:
            return solution.astype(np.float64).reshape(right.shape)
        numbers = solution.dtype.kind in "fiuc" and isinstance(found, np.ndarray)
        got = f"{solution.dtype.name}{list(solution.shape)}" if numbers else f"a {type(found).__name__}"
        message = f"`solver=` of `{self._name}` returned {got}, not a vector of {right.size} real numbers"
        advice = "return the solution alone: the iterative methods of SciPy return a pair, `gmres(A, b)[0]`"
        raise GradientError(Diagnostic("argument", message, help=advice))

    def _factorised(self, size: int) -> factorised.Factors:
        if self._factors is None:
            sparse = self._solver == "sparse" or (self._solver == "auto" and size > _DENSE)
            try:
                factors = (
                    self._sparse() if sparse else factorised.dense(self._matrix.dense().astype(np.float64))
                )
            except factorised.SingularError as wrong:
                raise _unsolved(self._name, self._solver, str(wrong)) from None
            if factors.reciprocal < np.finfo(self._matrix.dtype).eps:
                why = f"a reciprocal condition number of {factors.reciprocal:.1e}"
                raise _unsolved(
                    self._name, self._solver, f"the Jacobian is singular but for rounding, with {why}"
                )
            self._factors = factors
        return self._factors

    def _sparse(self) -> factorised.Factors:
        matrix = self._matrix.sparse(self._known.for_shape(self._matrix.shape))
        self._known.learn(matrix)
        return factorised.sparse(matrix.astype(np.float64))


def _unsolved(name: str, solver: Any, why: str) -> GradientError:
    called = f'"{solver}"' if isinstance(solver, str) else "the solver"
    message = f"the linear equations for the derivative of `{name}` were not solved by {called}: {why}"
    advice = (
        "the Jacobian of the residual by the unknown must be invertible; `solver=` chooses another method"
    )
    return GradientError(Diagnostic("not-differentiable", message, help=advice))
