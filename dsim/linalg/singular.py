"""`svd`: singular value decomposition."""

from __future__ import annotations

from typing import Any

from dsim.api.elementary import select
from dsim.api.fields import Matrix
from dsim.api.functions import cast, static
from dsim.api.kernels import func
from dsim.linalg.gaps import negligible, reciprocal
from dsim.linalg.inputs import float_type
from dsim.linalg.jacobi import svd2, svd3


@func
def svd(A: Any, dt: Any = None) -> Any:
    """Singular value decomposition: `U`, `S` and `V` with ``A = U @ S @ V.transpose()``.

    Parameters
    ----------
    A : matrix of shape (2, 2) or (3, 3)
        Any matrix.
    dt : type, optional
        The float type of the results; without it that of `A`.

    Returns
    -------
    U : matrix of the shape of `A`
        Orthogonal: the left singular vectors as columns.
    S : matrix of the shape of `A`
        Diagonal: the singular values, in descending order by absolute value.
    V : matrix of the shape of `A`
        A rotation: the right singular vectors as columns.

    Notes
    -----
    The determinant's sign goes to the same factor as in Taichi. For a 2 by 2 matrix no singular value is
    negative, and `U` is a reflection if ``det(A) < 0``. For a 3 by 3 matrix `U` is a rotation, and the last
    singular value is negative if ``det(A) < 0``.

    Closed form for 2 by 2. For 3 by 3 one-sided Jacobi rotations: Golub & Van Loan, *Matrix Computations*
    (4th ed.), §8.6. ``U @ S @ V.transpose()`` is `A` to within a few roundings of its largest entry, also
    where `A` is singular, has equal singular values, or is 0.

    The derivative is that of Papadopoulo & Lourakis, *Estimating the Jacobian of the singular value
    decomposition* (ECCV 2000), with the two kinds of divisors separate. Singular vectors of equal
    singular values (within 8 roundings of the largest) have no derivative; their rotation is set to 0 there,
    and the remainder is added to the off-diagonal entries of `S`, so that ``U @ S @ V.transpose()``,
    ``V @ S @ V.transpose()`` and other products with the whole matrix `S` keep their exact derivatives, first
    and second. Functions of the entries ``S[d, d]`` that are symmetric in them keep the exact first ones.
    Where singular values are merely close, with a gap g, the derivative of `U` and `V` grows as 1 / g, and
    its relative error as one rounding / g. Functions of ``U @ V.transpose()`` alone avoid this with
    `polar_decompose`.

    Examples
    --------
    >>> import dsim as ti
    >>> U, S, V = ti.svd(ti.Matrix([[0.0, -2.0], [1.0, 0.0]]))
    >>> S
    [[2.0, 0.0], [0.0, 1.0]]
    >>> U @ S @ V.transpose()
    [[0.0, -2.0], [1.0, 0.0]]
    """
    return singular(cast(A, static(float_type("svd", A.shape, (2, 3), dt, A.dtype))))


@func
def singular(A):
    """`svd` of a matrix of floats."""
    if static(A.n == 2):
        U, s, V = svd2(A)
        return U, Matrix([[s[0], 0], [0, s[1]]]), V
    U, s, V = svd3(A)
    return U, Matrix([[s[0], 0, 0], [0, s[1], 0], [0, 0, s[2]]]), V


@func
def singular_jvp(A, A_dot, *, result):
    """The tangents of `U`, `S` and `V` from ``dA = dU S V.T + U dS V.T + U S dV.T``.

    Where singular values are equal, the tangent of `S` is not diagonal. The formulas for `U` and `V` hold
    for a diagonal `S`; the contribution of its off-diagonal entries to them is 0, but its derivative is
    not. For 2 by 2 it is, too.
    """
    U, S, V = result
    P = U.transpose() @ A_dot @ V
    X, D, Y = turns(P, S)
    if static(A.n == 3):
        beside = 1 * S
        for i in static(range(3)):
            beside[i, i] = 0
        X, D, Y = turns(P - X @ beside + beside @ Y, S)
    return U @ X, D, V @ Y


@func
def turns(P, S):
    """Antisymmetric `X` and `Y`, and `D`, with ``P = X @ S - S @ Y + D``, for a diagonal `S`.

    The symmetric part of ``P[i, j] = X[i, j] S[j, j] - S[i, i] Y[i, j]`` gives ``X + Y``, the antisymmetric
    one ``X - Y``, each with its own divisor. Where a divisor counts as 0, `D` gets the remainder of `P`.
    """
    X, D, Y = 0 * P, 0 * P, 0 * P
    least = negligible(P) * S[0, 0]
    for i in static(range(P.n)):
        D[i, i] = P[i, i]
        for j in static(range(i + 1, P.n)):
            even, odd = (P[i, j] + P[j, i]) / 2, (P[i, j] - P[j, i]) / 2
            gap, total = S[j, j] - S[i, i], S[j, j] + S[i, i]
            x, y = even * reciprocal(gap, least), odd * reciprocal(total, least)
            X[i, j] = x + y
            X[j, i] = -(x + y)
            Y[i, j] = x - y
            Y[j, i] = y - x
            even, odd = select(abs(gap) <= least, even, 0), select(abs(total) <= least, odd, 0)
            D[i, j] = even + odd
            D[j, i] = even - odd
    return X, D, Y


singular.derivative(jvp=singular_jvp, check=False)
