"""`sym_eig`: eigenvalues and eigenvectors of symmetric matrices."""

from __future__ import annotations

from typing import Any

from dsim.api.functions import cast, static
from dsim.api.kernels import func
from dsim.linalg.gaps import negligible, reciprocal
from dsim.linalg.inputs import float_type
from dsim.linalg.jacobi import eigen2, eigen3


@func
def sym_eig(A: Any, dt: Any = None) -> Any:
    """Eigenvalues and eigenvectors of a symmetric matrix.

    Parameters
    ----------
    A : matrix of shape (2, 2) or (3, 3)
        Only its symmetric part ``(A + A.transpose()) / 2`` is used.
    dt : type, optional
        The float type of the results; without it that of `A`.

    Returns
    -------
    values : vector of shape (2,) or (3,)
        The eigenvalues: descending for a 2 by 2 matrix, ascending for a 3 by 3 matrix, as in Taichi.
    vectors : matrix of the shape of `A`
        A rotation: column `i` is an eigenvector for ``values[i]``.

    Notes
    -----
    Closed form for 2 by 2, Jacobi's method for 3 by 3: Golub & Van Loan, *Matrix Computations* (4th ed.),
    §8.5.

    ``d values[i] = v_i . dA v_i``, and the eigenvectors rotate towards each other by ``v_i . dA v_j /
    (values[j] - values[i])``: Magnus, *On differentiating eigenvalues and eigenvectors*, Econometric Theory
    1 (1985). Eigenvectors of equal eigenvalues (within 8 roundings of the largest) have no derivative;
    their rotation is taken as 0 there. So a matrix function ``V diag(f(values)) V.transpose()`` lacks, at
    equal eigenvalues, the part of its derivative that couples them, and a sum of all ``f(values[i])`` that
    part of its second derivative; its first one is right.

    Examples
    --------
    >>> import dsim as ti
    >>> values, vectors = ti.sym_eig(ti.Matrix([[1.0, 0.0, 0.0], [0.0, -2.0, 0.0], [0.0, 0.0, 3.0]]))
    >>> values
    [-2.0, 1.0, 3.0]
    """
    return eigen(cast(A, static(float_type("sym_eig", A.shape, (2, 3), dt, A.dtype))))


@func
def eigen(A):
    """`sym_eig` of a matrix of floats."""
    S = (A + A.transpose()) / 2
    if static(A.n == 2):
        return eigen2(S)
    return eigen3(S)


@func
def eigen_jvp(A, A_dot, *, result):
    """With `P` the tangent in the eigenbasis: its diagonal, and rotations by ``P[i, j] / gap``."""
    values, V = result
    P = V.transpose() @ ((A_dot + A_dot.transpose()) / 2) @ V
    least = negligible(A) * max(abs(values[0]), abs(values[static(A.n - 1)]))
    d, W = 0 * values, 0 * P
    for i in static(range(A.n)):
        d[i] = P[i, i]
        for j in static(range(i + 1, A.n)):
            w = P[i, j] * reciprocal(values[j] - values[i], least)
            W[i, j] = w
            W[j, i] = -w
    return d, V @ W


eigen.derivative(jvp=eigen_jvp, check=False)
