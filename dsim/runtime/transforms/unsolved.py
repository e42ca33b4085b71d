"""Whether unknowns solve their equations: if not, what is differentiated is no solution.

Newton's next step says how far they are from one. It is measured against the unknowns, and if there are
several fields of these also against each: one of them may be in other units. A field that is 0 but for
rounding changes by as much as it has, so there the residual has to be large beside its terms, too.
"""

from __future__ import annotations

import numpy as np

from dsim.diagnostics import Diagnostic
from dsim.runtime.state.notices import warn
from dsim.runtime.transforms.linear_operator import Linearization
from dsim.runtime.transforms.linear_solves import LinearEquations

_TINY = float(np.finfo(np.float32).tiny)
_DIRECTIONS = 3


def warn_unless_solved(
    name: str, equations: LinearEquations, matrix: Linearization, left: np.ndarray, now: np.ndarray
) -> None:
    """Warns when the unknowns do not solve the equations.

    Parameters
    ----------
    name : str
        Of the function that computed them.
    equations : LinearEquations
        Those of Newton's method.
    matrix : Linearization
        The Jacobian of the residual by the unknowns.
    left : ndarray
        The residual.
    now : ndarray
        The unknowns.
    """
    if not left.any():
        return
    precision = min(100 * float(np.sqrt(np.finfo(matrix.wrt.dtype).eps)), 1e-3)
    step = equations.solve(left, False)
    unknown, change = ", ".join(f.quoted for f in matrix.wrt.fields), _change(step, now)
    if change <= precision and len(matrix.wrt.fields) > 1:
        each = [_change(*pair) for pair in zip(matrix.wrt.split(step), matrix.wrt.split(now), strict=True)]
        largest = int(np.argmax(each))
        if each[largest] > precision and _left(matrix, left, now) > precision:
            unknown, change = matrix.wrt.fields[largest].quoted, each[largest]
    if change > precision:
        how = f"by {change:.1e} of its size" if np.isfinite(change) else "from 0"
        then = f"Newton's next step would change {unknown} {how}"
        message = f"`{name}` stopped before its residual was 0: {then}"
        warn([Diagnostic("unsolved", message, help="iterate longer: the derivative is that of a solution")])


def _change(step: np.ndarray, now: np.ndarray) -> float:
    """By how much of its size a step changes something."""
    by, size = float(np.linalg.norm(step)), float(np.linalg.norm(now))
    return by / size if size else np.inf if by > _TINY else 0.0


def _left(matrix: Linearization, left: np.ndarray, now: np.ndarray) -> float:
    """The largest residual of a field, in units of its largest term in the unknowns.

    Products with the unknowns times random weights say how large the terms are where their sum is near 0.
    """
    weights = np.random.default_rng(0).uniform(-1.0, 1.0, (now.size, _DIRECTIONS))
    terms = np.abs(matrix.matmat(weights * now[:, None])).max(axis=1)
    pairs = zip(matrix.out.split(np.abs(left)), matrix.out.split(terms), strict=True)
    sizes = [(float(residual.max(initial=0.0)), float(term.max(initial=0.0))) for residual, term in pairs]
    return max(residual / max(term, _TINY) for residual, term in sizes)
