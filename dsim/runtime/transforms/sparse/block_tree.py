"""A tree of index blocks over the numbers of fields: boxes of neighbours, halved from level to level."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


class BlockTree:
    """Boxes of neighbouring indices, of all fields at the same time.

    At level 0 each field is a block. From level to level the blocks of a field are halved along their widest
    axis, so that they stay compact in all dimensions. At level `depth` each number is a block.

    Parameters
    ----------
    shapes : sequence of tuple of int
        The shapes of the fields, in the order of their numbers.

    Attributes
    ----------
    depth : int
        The number of the last level.
    """

    def __init__(self, shapes: Sequence[tuple[int, ...]]) -> None:
        axes = [_halvings(shape) for shape in shapes]
        self.depth = max(map(len, axes))
        self._keys = np.concatenate(
            [
                (leaf << self.depth) + (_codes(shape, halved) << (self.depth - len(halved))).ravel()
                for leaf, (shape, halved) in enumerate(zip(shapes, axes, strict=True))
            ]
        )

    def blocks(self, level: int) -> np.ndarray:
        """The block of each number: the parts of one block have numbers in sequence."""
        return np.unique(self._keys >> (self.depth - level), return_inverse=True)[1]

    def level_of(self, count: int) -> int:
        """The last level that has at most so many blocks, or the first one."""
        return max((n for n in range(self.depth + 1) if self._count(n) <= count), default=0)

    def _count(self, level: int) -> int:
        return len(np.unique(self._keys >> (self.depth - level)))

    def numbers(self) -> np.ndarray:
        """The number that each block of the last level consists of."""
        return np.argsort(self._keys, kind="stable")


class Refinement:
    """The blocks of one level as parents of those of a later one.

    Attributes
    ----------
    parents, children : array
        The block of each number at the first and at the second level.
    parent : array
        The parent of each child.
    first : array
        The first child of each parent; its end is the number of children.
    rank : array
        The position of each child among those of its parent.
    """

    def __init__(self, tree: BlockTree, level: int, after: int) -> None:
        self.parents, self.children = tree.blocks(level), tree.blocks(after)
        self.parent = np.empty(self.children.max() + 1, np.intp)
        self.parent[self.children] = self.parents
        self.first = np.searchsorted(self.parent, np.arange(self.parents.max() + 2))
        self.rank = np.arange(len(self.parent)) - self.first[self.parent]

    @property
    def counts(self) -> np.ndarray:
        """How many children each parent has."""
        return np.diff(self.first)

    def expanded(self, rows: np.ndarray, owners: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Pairs of a row and a parent become pairs of the row and each of its children."""
        counts = self.counts[owners]
        ends = np.cumsum(counts)
        within = np.arange(ends[-1] if len(ends) else 0) - np.repeat(ends - counts, counts)
        return np.repeat(rows, counts), np.repeat(self.first[owners], counts) + within


def _halvings(shape: tuple[int, ...]) -> list[int]:
    """The axis that is halved at each level, until boxes hold one number."""
    left = [(extent - 1).bit_length() if extent else 0 for extent in shape]
    axes: list[int] = []
    while any(left):
        widest = left.index(max(left))
        left[widest] -= 1
        axes.append(widest)
    return axes


def _codes(shape: tuple[int, ...], halved: list[int]) -> np.ndarray:
    """For each number the halves that it is in, a bit for each level, the first one highest."""
    codes = np.zeros(shape, np.int64)
    left = [halved.count(axis) for axis in range(len(shape))]
    for axis in halved:
        left[axis] -= 1
        sides = (np.arange(shape[axis]) >> left[axis]) & 1
        codes = (codes << 1) | sides.reshape([-1 if a == axis else 1 for a in range(len(shape))])
    return codes
