"""`solve`: linear equations with a 2 by 2 or 3 by 3 matrix."""

from __future__ import annotations

from typing import Any

from dsim.api.fields import Vector
from dsim.api.functions import cast, static
from dsim.api.kernels import func
from dsim.linalg.inputs import float_type


@func
def solve(A: Any, b: Any, dt: Any = None) -> Any:
    """The solution `x` of ``A @ x = b``.

    Parameters
    ----------
    A : matrix of shape (2, 2) or (3, 3)
        The coefficients.
    b : vector of shape (2,) or (3,)
        The right-hand side.
    dt : type, optional
        The float type of the result; without it the wider one of `A` and `b`.

    Returns
    -------
    vector of shape (2,) or (3,)
        The solution. Where `A` is singular, its entries are infinite or NaN.

    Notes
    -----
    Gaussian elimination with partial pivoting: Golub & Van Loan, *Matrix Computations* (4th ed.), §3.4. The
    derivative solves with the same matrix again, ``A @ dx = db - dA @ x``; it does not differentiate the
    choice of pivots.

    Examples
    --------
    >>> import dsim as ti
    >>> ti.solve(ti.Matrix([[0.0, 2.0], [4.0, 1.0]]), ti.Vector([2.0, 5.0]))
    [1.0, 1.0]
    """
    real = static(equations(A.shape, b.shape, dt, A.dtype, b.dtype))
    return solution(cast(A, real), cast(b, real))


def equations(shape, sides, dt, *given):
    """The float type to solve in.

    Raises
    ------
    TypeError
        When the shapes are not those of a square matrix and a vector for it.
    """
    real = float_type("solve", shape, (2, 3), dt, *given)
    if sides != shape[:1]:
        raise TypeError(f"`solve` takes a vector of {shape[0]} for this matrix, got one of shape {sides}")
    return real


@func
def solution(A, b):
    """`solve` for operands of floats."""
    if static(A.n == 2):
        return solution2(A, b)
    return solution3(A, b)


@func
def solution_jvp(A, b, A_dot, b_dot, *, result):
    """From ``dA @ x + A @ dx = db``."""
    return solution(A, b_dot - A_dot @ result)


@func
def solution_vjp(A, b, x_bar, *, result):
    """The transpose of that: ``A.T @ z = x_bar`` gives the adjoint `z` of `b`, and ``-z x.T`` of `A`."""
    z = solution(A.transpose(), x_bar)
    return -z.outer_product(result), z


solution.derivative(jvp=solution_jvp, vjp=solution_vjp, check=False)


@func
def solution2(A, b):
    """Gaussian elimination with two rows."""
    p, q = Vector([A[0, 0], A[0, 1], b[0]]), Vector([A[1, 0], A[1, 1], b[1]])
    p, q = pivoted(p, q, 0)
    q = q - p * (q[0] / p[0])
    y = q[2] / q[1]
    return Vector([(p[2] - p[1] * y) / p[0], y])


@func
def solution3(A, b):
    """Gaussian elimination with three rows."""
    p = Vector([A[0, 0], A[0, 1], A[0, 2], b[0]])
    q = Vector([A[1, 0], A[1, 1], A[1, 2], b[1]])
    r = Vector([A[2, 0], A[2, 1], A[2, 2], b[2]])
    p, q = pivoted(p, q, 0)
    p, r = pivoted(p, r, 0)
    q = q - p * (q[0] / p[0])
    r = r - p * (r[0] / p[0])
    q, r = pivoted(q, r, 1)
    r = r - q * (r[1] / q[1])
    z = r[3] / r[2]
    y = (q[3] - q[2] * z) / q[1]
    return Vector([(p[3] - p[1] * y - p[2] * z) / p[0], y, z])


@func
def pivoted(p, q, k):
    """The two rows, the one with the larger absolute entry `k` first."""
    if abs(q[k]) > abs(p[k]):
        r = p
        p = q
        q = r
    return p, q
