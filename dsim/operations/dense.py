"""Dense linear algebra: LAPACK by NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np

from dsim.api.ad import operation


@operation
def solve(A: Any, b: Any) -> Any:
    """The solution of ``A @ x = b``.

    Parameters
    ----------
    A : (…, n, n) array or field
        The matrix.
    b : (…, n) or (…, n, k) array or field
        One right-hand side, or several as columns.

    Raises
    ------
    numpy.linalg.LinAlgError
        When the matrix is singular.

    Examples
    --------
    >>> import dsim as ti
    >>> import numpy as np
    >>> A = ti.field(ti.f64, shape=(2, 2))
    >>> A.from_numpy(np.array([[2.0, 0.0], [0.0, 4.0]]))
    >>> x = ti.field(ti.f64, shape=2)
    >>> ti.operations.solve(A, [2.0, 2.0], out=x).to_numpy()
    array([1. , 0.5])
    """
    if np.ndim(b) == np.ndim(A) - 1:
        return np.linalg.solve(A, np.asarray(b)[..., None])[..., 0]
    return np.linalg.solve(A, b)


def _columns(x: Any, A: Any) -> Any:
    """Right-hand sides as columns."""
    return x.reshape((*x.shape, 1)) if x.ndim == A.ndim - 1 else x


@solve.jvp
def _(A: Any, b: Any, /, *, out: Any, tangents: Any) -> Any:
    dA, db = tangents
    return solve(A, db - (dA @ _columns(out, A)).reshape(out.shape))


@solve.vjp
def _(A: Any, b: Any, /, *, out: Any, adjoint: Any) -> Any:
    found = solve(A.mT, adjoint)
    return -(_columns(found, A) @ _columns(out, A).mT), found


@operation
def eigh(A: Any) -> Any:
    """Eigenvalues and eigenvectors of the symmetric part of a matrix: ``out=(w, v)``.

    Parameters
    ----------
    A : (…, n, n) array or field
        The matrix, of which ``(A + A.T) / 2`` is taken.

    Returns
    -------
    w : (…, n) array
        The eigenvalues, ascending.
    v : (…, n, n) array
        The eigenvectors, as columns. Where two eigenvalues are equal, their vectors have no derivative: the
        rotation into each other counts as 0, as in `sym_eig`.
    """
    return tuple(np.linalg.eigh((A + A.mT) * A.dtype.type(0.5)))


@operation
def reciprocal_gaps(w: Any) -> Any:
    """``1 / (w[j] - w[i])``, and 0 where the gap is not larger than a few roundings of the largest number."""
    gaps = w[..., None, :] - w[..., :, None]
    largest = np.abs(w).max(axis=-1, initial=0.0)[..., None, None]
    none = np.abs(gaps) <= 8 * np.finfo(w.dtype).eps * largest
    return np.where(none, 0, 1 / np.where(none, 1, gaps))


@reciprocal_gaps.jvp
def _(w: Any, /, *, out: Any, tangents: Any) -> Any:
    (dw,) = tangents
    shape = dw.shape
    return (dw.reshape((*shape, 1)) - dw.reshape((*shape[:-1], 1, shape[-1]))) * (out * out)


@reciprocal_gaps.vjp
def _(w: Any, /, *, out: Any, adjoint: Any) -> Any:
    found = adjoint * (out * out)
    return found.sum(axis=-1) - found.sum(axis=-2)


@eigh.jvp
def _(A: Any, /, *, out: Any, tangents: Any) -> Any:
    w, v = out
    (dA,) = tangents
    turned = v.mT @ ((dA + dA.mT) * 0.5) @ v
    one = np.eye(w.shape[-1], dtype=w.dtype)
    return (turned * one).sum(axis=-1), v @ (reciprocal_gaps(w) * turned)


@eigh.vjp
def _(A: Any, /, *, out: Any, adjoint: Any) -> Any:
    w, v = out
    dw, dv = adjoint
    one = np.eye(w.shape[-1], dtype=w.dtype)
    found = v @ (one * dw.reshape((*w.shape, 1)) + reciprocal_gaps(w) * (v.mT @ dv)) @ v.mT
    return (found + found.mT) * 0.5
