"""`eig`: eigenvalues and eigenvectors of any real 2 by 2 matrix, as complex numbers."""

from __future__ import annotations

from typing import Any

from dsim.api.elementary import select, sqrt
from dsim.api.fields import Matrix, Vector
from dsim.api.functions import cast, static, stop_grad
from dsim.api.kernels import func
from dsim.linalg.inputs import float_type
from dsim.linalg.jacobi import magnitude


@func
def eig(A: Any, dt: Any = None) -> Any:
    """Eigenvalues and eigenvectors of a real matrix, as complex numbers.

    Parameters
    ----------
    A : matrix of shape (2, 2)
        Any matrix. For symmetric matrices, also 3 by 3, use `sym_eig`.
    dt : type, optional
        The float type of the results; without it that of `A`.

    Returns
    -------
    values : matrix of shape (2, 2)
        A row is an eigenvalue: its real and its imaginary part. The first is the larger one, or of a
        conjugate pair the one with a positive imaginary part.
    vectors : matrix of shape (4, 2)
        A column is an eigenvector of length 1: real part and imaginary part of its first component, then of
        its second one, which is real.

    Notes
    -----
    The roots of the characteristic polynomial, and for each the row of ``A - value`` without cancellation.
    Where a real eigenvalue is double, only the mean of the eigenvalues has a derivative; half their
    difference is treated as constant there. For a defective matrix both columns are its one eigenvector.

    Examples
    --------
    >>> import dsim as ti
    >>> values, vectors = ti.eig(ti.Matrix([[1.0, -2.0], [2.0, 1.0]]))
    >>> values
    [[1.0, 2.0], [1.0, -2.0]]
    """
    M = cast(A, static(float_type("eig", A.shape, (2,), dt, A.dtype)))
    size = magnitude(stop_grad(M))
    values, vectors = eigen_complex(M / size)
    return size * values, vectors


@func
def eigen_complex(A):
    """`eig` for floats of moderate size: the roots of the characteristic polynomial."""
    b, c = A[0, 1], A[1, 0]
    middle, half = (A[0, 0] + A[1, 1]) / 2, (A[0, 0] - A[1, 1]) / 2
    square = half * half + b * c
    root = 0 * square
    if square < 0:
        root = sqrt(-square)
        v = Vector([half, root, c, 0 * c]).normalized()
        w = Vector([v[0], -v[1], v[2], v[3]])
        return Matrix([[middle, root], [middle, -root]]), Matrix.cols([v, w])
    if square > 0:
        root = sqrt(square)
    v, w = real_vectors(half, b, c, root)
    return Matrix([[middle + root, 0], [middle - root, 0]]), Matrix.cols([v, w])


@func
def real_vectors(half, b, c, root):
    """The eigenvectors for ``middle + root`` and ``middle - root``, from the row without cancellation."""
    sign = select(c < 0, -1, 1)
    long = abs(half) + root
    v, w = Vector([long, c]), -sign * Vector([b, -long])
    if half < 0:
        v = sign * Vector([b, long])
        w = Vector([-long, c])
    if long == 0:
        v = Vector([select(c == 0, 1 + 0 * b, 0), c])
        w = v
        if b == 0 and c == 0:
            w = Vector([0 * b, 1 + 0 * b])
    v, w = v.normalized(), w.normalized()
    return Vector([v[0], 0 * b, v[1], 0 * b]), Vector([w[0], 0 * b, w[1], 0 * b])
