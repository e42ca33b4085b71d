"""Sparsity patterns: where a matrix has entries, by rows."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import coo_array, csr_array


class Pattern(NamedTuple):
    """The entries of a matrix in the order of rows and, in a row, of columns; each once.

    Attributes
    ----------
    shape : (int, int)
        Of the matrix.
    ends : array
        Where the entries of each row begin; one more for the end of the last one.
    columns : array
        The column of each entry.
    """

    shape: tuple[int, int]
    ends: np.ndarray
    columns: np.ndarray

    @classmethod
    def of(cls, rows: Any, columns: Any, shape: tuple[int, int]) -> Pattern:
        """The pattern with these entries."""
        matrix: Any = coo_array((np.ones(len(rows), bool), (rows, columns)), shape=shape).tocsr()
        matrix.sum_duplicates()
        return cls(shape, matrix.indptr, matrix.indices)

    @property
    def rows(self) -> np.ndarray:
        """The row of each entry."""
        return np.repeat(np.arange(self.shape[0]), self.degrees)

    @property
    def degrees(self) -> np.ndarray:
        """How many entries each row has."""
        return np.diff(self.ends)

    @property
    def transposed(self) -> Pattern:
        """The pattern of the transposed matrix."""
        height, width = self.shape
        return Pattern.of(self.columns, self.rows, (width, height))

    def among(self, rows: np.ndarray) -> Pattern:
        """Its entries in some rows, given as booleans; the others are empty."""
        degrees = np.where(rows, self.degrees, 0)
        return Pattern(self.shape, np.concatenate([[0], np.cumsum(degrees)]), self.columns[rows[self.rows]])

    def joined(self, other: Pattern) -> Pattern:
        """The entries of both."""
        rows = np.concatenate([self.rows, other.rows])
        return Pattern.of(rows, np.concatenate([self.columns, other.columns]), self.shape)

    def filled(self, values: np.ndarray) -> csr_array:
        """The matrix with these entries."""
        return csr_array((values, self.columns, self.ends), shape=self.shape)
