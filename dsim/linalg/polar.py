"""`polar_decompose`: a rotation times a symmetric matrix."""

from __future__ import annotations

from typing import Any

from dsim.api.fields import Matrix, Vector
from dsim.api.functions import cast, static, stop_grad
from dsim.api.kernels import func
from dsim.linalg.gaps import negligible, reciprocal
from dsim.linalg.inputs import float_type
from dsim.linalg.jacobi import eigen3, polar2, svd3


@func
def polar_decompose(A: Any, dt: Any = None) -> Any:
    """Polar decomposition: an orthogonal `R` and a symmetric `S` with ``A = R @ S``.

    Parameters
    ----------
    A : matrix of shape (2, 2) or (3, 3)
        Any matrix.
    dt : type, optional
        The float type of the results; without it that of `A`.

    Returns
    -------
    R : matrix of the shape of `A`
        Orthogonal. For a 3 by 3 matrix it is always a rotation, for a 2 by 2 matrix a reflection if ``det(A)
        < 0``.
    S : matrix of the shape of `A`
        Symmetric. For a 3 by 3 matrix with ``det(A) < 0`` its smallest eigenvalue is negative; else it is
        positive semidefinite.

    Notes
    -----
    The determinant's sign goes to the same factor as in Taichi. For a 2 by 2 matrix `R` is the orthogonal one
    nearest to `A`, for a 3 by 3 matrix the nearest rotation. For ``A = 0`` it is the identity.

    Closed form for 2 by 2, and ``U @ V.transpose()`` of `svd` for 3 by 3. The derivative does not go
    through the singular vectors: ``dR = R @ W`` with the antisymmetric solution `W` of ``W @ S + S @ W =
    R.T @ dA - dA.T @ R`` (Higham, *Functions of Matrices*, ch. 8; in three dimensions a linear system for
    the axis of `W`). Its divisors are sums of two eigenvalues of `S`, so equal singular values are no pole,
    in derivatives of any order. Where such a sum is 0, which requires ``det(A) <= 0``, `R`
    has no derivative about that axis, and 0 is used.

    Examples
    --------
    >>> import dsim as ti
    >>> R, S = ti.polar_decompose(ti.Matrix([[0.0, -2.0], [1.0, 0.0]]))
    >>> R
    [[0.0, -1.0], [1.0, 0.0]]
    >>> S
    [[1.0, 0.0], [0.0, 2.0]]
    """
    return polar(cast(A, static(float_type("polar_decompose", A.shape, (2, 3), dt, A.dtype))))


@func
def polar(A):
    """`polar_decompose` of a matrix of floats."""
    if static(A.n == 2):
        return polar2(A)
    U, s, V = svd3(A)
    S = 0 * V
    for i in static(range(3)):
        for j in static(range(i, 3)):
            S[i, j] = V[i, 0] * s[0] * V[j, 0] + V[i, 1] * s[1] * V[j, 1] + V[i, 2] * s[2] * V[j, 2]
            S[j, i] = S[i, j]
    return U @ V.transpose(), S


@func
def polar_jvp(A, A_dot, *, result):
    """With ``dR = R @ W`` and ``G = R.T @ dA``: ``G = W @ S + dS``, whose antisymmetric part gives `W`."""
    R, S = result
    G = R.transpose() @ A_dot
    if static(A.n == 2):
        size = S[0, 0] + S[1, 1]
        w = (G[1, 0] - G[0, 1]) * reciprocal(size, 0)
        W = Matrix([[0, -w], [w, 0]])
        return turned(R, S, G, W)
    w = spin(S, Vector([G[2, 1] - G[1, 2], G[0, 2] - G[2, 0], G[1, 0] - G[0, 1]]))
    W = Matrix([[0, -w[2], w[1]], [w[2], 0, -w[0]], [-w[1], w[0], 0]])
    return turned(R, S, G, W)


polar.derivative(jvp=polar_jvp, check=False)


@func
def turned(R, S, G, W):
    """The tangents of `R` and `S` for ``dR = R @ W``."""
    D = G - W @ S
    return R @ W, (D + D.transpose()) / 2


@func
def spin(S, x):
    """The vector `w` with ``W @ S + S @ W = X``, where `W` and `X` are the cross products with `w` and `x`.

    That is ``(trace(S) I - S) @ w = x``, with eigenvalues that are the sums of two of `S`. Where such a sum
    is 0, there is no derivative about that axis, and `w` has no part along it.
    """
    t = S.trace()
    M = t * Matrix.identity(S.dtype, 3) - S
    adjugate = 2 * t * t - M.norm_sqr() / 2
    if M.determinant() > negligible(S) * t * adjugate:
        return definite(M, x)
    values, V = eigen3(stop_grad(S))
    w = 0 * x
    for k in static(range(3)):
        v = V[:, k]
        w += v * (v.dot(x) * reciprocal(stop_grad(t) - values[k], negligible(S) * t))
    return w


@func
def definite(M, x):
    """The solution of ``M @ w = x`` for a positive definite `M`, which needs no pivots."""
    a = M[0, 1] / M[0, 0]
    b = M[0, 2] / M[0, 0]
    d = M[1, 1] - a * M[0, 1]
    e = M[1, 2] - a * M[0, 2]
    c = e / d
    y = x[1] - a * x[0]
    w = (x[2] - b * x[0] - c * y) / (M[2, 2] - b * M[0, 2] - c * e)
    v = y / d - c * w
    return Vector([x[0] / M[0, 0] - a * v - b * w, v, w])
