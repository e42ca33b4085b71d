"""Vectors and matrices of the plain interpreter, over the numbers of `numbers.py`."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable

from tests.fuzz.oracle.numbers import Dual, cast, dual


class Array:
    """A vector, or a matrix; its entries in order."""

    def __init__(self, entries: Iterable, shape: tuple[int, ...]) -> None:
        self.entries = [dual(e) for e in entries]
        self.shape = shape
        assert len(self.entries) == math.prod(shape)

    def __getitem__(self, at):
        return self.entries[self._place(at)]

    def __setitem__(self, at, value) -> None:
        place = self._place(at)
        self.entries[place] = cast(dual(value), self.entries[place].bits)

    def _place(self, at) -> int:
        number = 0
        for a, size in zip(at if isinstance(at, tuple) else (at,), self.shape, strict=True):
            number = number * size + inside(a, size)
        return number

    def each(self, other, operation: Callable) -> Array:
        """What `operation` makes of the entries, and those of `other`."""
        others = other.entries if isinstance(other, Array) else [other] * len(self.entries)
        return Array([operation(a, b) for a, b in zip(self.entries, others, strict=True)], self.shape)

    def copy(self) -> Array:
        """The same entries."""
        return Array(self.entries, self.shape)

    def __add__(self, other):
        return self.each(other, lambda a, b: a + b)

    def __sub__(self, other):
        return self.each(other, lambda a, b: a - b)

    def __mul__(self, other):
        return self.each(other, lambda a, b: a * b)

    def __rmul__(self, other):
        return self * other

    def __matmul__(self, other):
        n, m = self.shape
        if len(other.shape) == 1:
            return Array([_sum(self[i, j] * other[j] for j in range(m)) for i in range(n)], (n,))
        places = itertools.product(range(n), range(other.shape[1]))
        return Array(
            [_sum(self[i, k] * other[k, j] for k in range(m)) for i, j in places], (n, other.shape[1])
        )

    def dot(self, other):
        """The inner product."""
        return (self * other).sum()

    def sum(self) -> Dual:
        """The sum of the entries."""
        return _sum(self.entries)

    def norm_sqr(self) -> Dual:
        """The sum of their squares."""
        return (self * self).sum()

    def transpose(self) -> Array:
        """The transpose."""
        n, m = self.shape
        return Array([self[i, j] for j in range(m) for i in range(n)], (m, n))

    def trace(self) -> Dual:
        """The sum of the diagonal."""
        return _sum(self[i, i] for i in range(self.shape[0]))

    def determinant(self) -> Dual:
        """Of two rows and columns."""
        return self[0, 0] * self[1, 1] - self[0, 1] * self[1, 0]


def vector(entries) -> Array:
    """``ti.Vector([…])``."""
    return Array(entries, (len(entries),))


def matrix(rows) -> Array:
    """``ti.Matrix([[…], …])``."""
    return Array([e for row in rows for e in row], (len(rows), len(rows[0])))


def inside(at, size: int) -> int:
    """`at`, which is an index below `size`."""
    if not 0 <= at < size:
        raise IndexError(f"{at} of {size}")
    return int(at)


def _sum(numbers: Iterable[Dual]) -> Dual:
    first, *others = numbers
    return sum(others, first)
