"""Products of a linear operator with groups of rows or columns, in batches that bound the memory, counted."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.sparse.linalg import LinearOperator

REVERSE_COST = 2.5  # what a product from the left costs, in those from the right
_BATCH = 1 << 25  # numbers in the arrays of one batch of products


class Products:
    """Products with an operator, from both sides.

    Parameters
    ----------
    operator : LinearOperator
        The matrix.
    symmetric : bool
        Whether it equals its transpose: then all products are made from the right.
    precision : dtype
        The coarsest type among those of the fields, which all seeds must be numbers of.

    Attributes
    ----------
    forward, reverse : int
        How many were made from the right and from the left.
    """

    def __init__(self, operator: LinearOperator, symmetric: bool, precision: Any) -> None:
        self.operator, self.symmetric, self.precision = operator, symmetric, np.dtype(precision)
        self.shape: tuple[int, int] = operator.shape
        self.forward = self.reverse = 0

    @property
    def reverse_cost(self) -> float:
        """What a product from the left costs, in those from the right."""
        return 1.0 if self.symmetric else REVERSE_COST

    def right(self, seeds: np.ndarray) -> np.ndarray:
        """The matrix times the columns of an array."""
        self.forward += seeds.shape[1]
        return np.array(self.operator.matmat(seeds.astype(self.operator.dtype)))

    def left(self, seeds: np.ndarray) -> np.ndarray:
        """The transposed matrix times the columns of an array."""
        if self.symmetric:
            return self.right(seeds)
        self.reverse += seeds.shape[1]
        return np.array(self.operator.rmatmat(seeds.astype(self.operator.dtype)))

    def draw(self, random: np.random.Generator, size: Any) -> np.ndarray:
        """Random seeds, of both signs and away from 0; sums of two are exact."""
        steps = 2.0 ** (np.finfo(self.precision).nmant - 2)
        signs = 1 - 2 * random.integers(0, 2, size)
        return signs * np.round(random.uniform(1.0, 2.0, size) * steps) / steps


class ProductSide:
    """Products of groups of columns; of a transposed one, of groups of rows."""

    def __init__(self, products: Products, transposed: bool) -> None:
        self._products = products
        self.transposed = transposed
        height, width = products.shape
        self.shape = (width, height) if transposed else (height, width)
        near, far = (products.reverse_cost, 1.0) if transposed else (1.0, products.reverse_cost)
        self.other_cost = far / near  # of a product of the other side, in those of this one

    @property
    def other(self) -> ProductSide:
        """The side of the rows."""
        return ProductSide(self._products, not self.transposed)

    def draw(self, random: np.random.Generator) -> np.ndarray:
        """A random seed for each column."""
        return self._products.draw(random, self.shape[1])

    def batches(self, groups: np.ndarray, seeds: np.ndarray) -> Iterator[tuple[int, int, np.ndarray]]:
        """Products with the sums of the columns of each group, times a factor for each column.

        Gives the first group of a batch, the first of the next one, and the products with those between.
        Columns in the group −1 are left out.
        """
        multiply = self._products.left if self.transposed else self._products.right
        width, end = max(1, _BATCH // max(1, sum(self.shape))), int(groups.max(initial=-1)) + 1
        for low in range(0, end, width):
            high = min(low + width, end)
            members = np.flatnonzero((groups >= low) & (groups < high))
            batch = np.zeros((self.shape[1], high - low))
            batch[members, groups[members] - low] = seeds[members]
            yield low, high, multiply(batch)

    def entries(
        self,
        groups: np.ndarray,
        seeds: np.ndarray,
        rows: np.ndarray,
        at: np.ndarray,
        left_out: np.ndarray,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Entries of the products with groups of columns.

        Parameters
        ----------
        groups, seeds : array
            As for `batches`.
        rows, at : array
            The row and the group of each entry.
        left_out : array
            Booleans: in which rows other entries do not matter.

        Returns
        -------
        values : array
            The entries.
        others : array
            Booleans: in which rows there are others that are not 0.
        """
        values = np.zeros(len(rows))
        others = np.zeros(self.shape[0], bool)
        for low, high, result in self.batches(groups, seeds):
            read = np.flatnonzero((at >= low) & (at < high))
            values[read] = result[rows[read], at[read] - low]
            result[rows[read], at[read] - low] = 0
            others |= result.any(axis=1)
        return values, others & ~left_out
