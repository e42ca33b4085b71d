"""The Jacobian of a run as one of SciPy's linear operators."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.linalg import LinearOperator

from dsim.diagnostics.frames import outermost
from dsim.runtime.state.references import uncopied
from dsim.runtime.transforms.given_numbers import numbers
from dsim.runtime.transforms.recorded_run import RecordedRun
from dsim.runtime.transforms.selection import Selection
from dsim.runtime.transforms.sparse.compression import Compression, compressed


class Linearization(LinearOperator):
    """The Jacobian of a run at one state: a matrix that is known by its products.

    Its columns belong to the numbers of `wrt` in order, its rows to those of `out`. A product from the left
    is a forward mode, from the right a backward sweep, over launches that were recorded; each puts all fields
    back as they were. What happens to fields later does not change it.

    Attributes
    ----------
    shape : (int, int)
        How many numbers `out` has, and how many `wrt` has.
    value : ndarray or mapping
        What the run computed for `out`; of several fields by field.
    wrt, out : Selection
        The fields, with `split` and `joined` between a vector and their arrays.
    compression : Compression or None
        How the last sparse matrix was found: its number of colours, and of products.
    """

    def __init__(self, run: RecordedRun, wrt: Selection, out: Selection) -> None:
        self._run, self.wrt, self.out = run, wrt, out
        self.compression: Compression | None = None
        self.value = out.result(run.values)
        super().__init__(np.result_type(wrt.dtype, out.dtype), (out.size, wrt.size))

    @outermost
    def __reduce__(self) -> tuple[Any, ...]:
        uncopied("the Jacobian of a run", "copy the matrix: `J.dense()`, `J.sparse()`")

    @outermost
    def dot(self, x: Any) -> Any:
        """The product with a vector, a matrix, a number or an operator."""
        return super().dot(numbers(x, "a product") if isinstance(x, np.ndarray | list | tuple) else x)

    @outermost
    def _matvec(self, x: Any) -> np.ndarray:
        x = numbers(x, "a product")
        if np.iscomplexobj(x):
            return self._matvec(np.real(x)) + 1j * self._matvec(np.imag(x))
        return self.out.joined(self._run.push(self.wrt.split(np.ravel(x))), self.dtype)

    @outermost
    def _rmatvec(self, x: Any) -> np.ndarray:
        x = numbers(x, "a product")
        if np.iscomplexobj(x):
            return self._rmatvec(np.real(x)) + 1j * self._rmatvec(np.imag(x))
        return self.wrt.joined(self._run.pull(self.out.split(np.ravel(x))), self.dtype)

    @outermost
    def _matmat(self, X: Any) -> np.ndarray:
        X = numbers(X, "a product")
        if np.iscomplexobj(X):
            return self._matmat(np.real(X)) + 1j * self._matmat(np.imag(X))
        count = X.shape[1]
        if not count:
            return np.zeros((self.shape[0], 0), self.dtype)
        found = self._run.push_all([np.moveaxis(a, -1, 0) for a in self.wrt.split(np.asarray(X))])
        return np.concatenate([a.reshape(count, -1).T for a in found]).astype(self.dtype, copy=False)

    @outermost
    def _rmatmat(self, X: Any) -> np.ndarray:
        return _columns([self._rmatvec(x) for x in numbers(X, "a product").T], self.shape[1], self.dtype)

    @outermost
    def dense(self) -> np.ndarray:
        """The whole matrix, by as many products as its shorter side has numbers."""
        rows, columns = self.shape
        if columns <= rows and self._run.carries_tangents:
            return self.matmat(np.eye(columns, dtype=self.dtype))
        return self.rmatmat(np.eye(rows, dtype=self.dtype)).T

    @outermost
    def sparse(self, pattern: Any = "auto", *, symmetric: bool = False) -> csr_array:
        """The whole matrix as a sparse array, by few products with sums of unit vectors.

        Parameters
        ----------
        pattern : sparse array or "auto"
            Where the matrix may have entries, such as the matrix at another state. "auto" finds out, by
            products with random vectors: numbers that are 0 at this state do not belong to it.
        symmetric : bool
            Whether the matrix is symmetric, as a Hessian is: then no product with the transpose is needed.

        Returns
        -------
        csr_array
            Of the same shape, with the entries of the pattern. Where that lacks some, one is found anew. The
            numbers have at least 32 bits.

        Raises
        ------
        GradientError
            When products with random vectors, from both sides, differ from those of the result.

        Examples
        --------
        >>> import dsim as ti
        >>> x = ti.field(ti.f64, shape=4)
        >>> y = ti.field(ti.f64, shape=4)
        >>> @ti.kernel
        ... def squares():
        ...     for i in x:
        ...         y[i] = x[i] ** 2
        >>> x.from_numpy([1.0, 2.0, 3.0, 4.0])
        >>> J = ti.linearize(squares, wrt=x, out=y)
        >>> J.sparse().diagonal(), J.compression.colours
        (array([2., 4., 6., 8.]), 1)
        """
        matrix, self.compression = compressed(self, self.out, self.wrt, pattern, symmetric)
        return matrix


def _columns(vectors: list[np.ndarray], length: int, dtype: Any) -> np.ndarray:
    return np.stack(vectors, axis=1) if vectors else np.zeros((length, 0), dtype)
