"""Star colourings of symmetric patterns: Hessians by fewer products than columns that share rows would allow.

Neighbours have different colours, and no path of four vertices has only two. Then of each entry and the one
opposite to it, at least one is alone among the entries of its colour in its row (A. Gebremedhin, F. Manne and
A. Pothen, SIAM Review 47, 2005).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from dsim.runtime.transforms.sparse.colouring import coloured, number_of
from dsim.runtime.transforms.sparse.sparsity_pattern import Pattern


def star_coloured(pattern: Pattern, shapes: Sequence[tuple[int, ...]]) -> np.ndarray:
    """A colour for each column of a symmetric pattern, from 0; −1 for an empty one.

    The best of two greedy colourings, in the order of the columns and longest first, and of one in which
    columns of a colour share no row, which is also such a colouring, and regular on stencils.

    Parameters
    ----------
    pattern : Pattern
        Which entries there are.
    shapes : sequence of tuple of int
        The shapes of the fields whose numbers the columns belong to.
    """
    degrees = pattern.degrees
    filled = np.flatnonzero(degrees)
    longest = filled[np.argsort(-degrees[filled], kind="stable")]
    best = min((_Greedy(pattern).colours(order) for order in (filled, longest)), key=number_of)
    if number_of(best) <= degrees.max(initial=0):  # what the others need
        return best
    return min(best, coloured(pattern, shapes), key=number_of)


class _Greedy:
    """The first colour that leaves no path of two colours, vertex by vertex. Sets of colours are bits."""

    def __init__(self, pattern: Pattern) -> None:
        size = pattern.shape[0]
        away = pattern.rows != pattern.columns
        ends = np.concatenate([[0], np.cumsum(np.bincount(pattern.rows[away], minlength=size))]).tolist()
        columns = pattern.columns[away].tolist()
        self._near = [columns[a:b] for a, b in pairwise(ends)]
        self._own = [0] * size  # the colour of a vertex
        self._once = [0] * size  # those of its neighbours
        self._twice = [0] * size  # those that several of them have
        self._beyond = [0] * size  # those of its neighbours of which others have its own colour

    def colours(self, order: np.ndarray) -> np.ndarray:
        for vertex in order.tolist():
            taken = self._forbidden(vertex)
            self._give(vertex, ~taken & (taken + 1))
        return np.array([bit.bit_length() - 1 for bit in self._own], np.intp)

    def _forbidden(self, vertex: int) -> int:
        taken, twice = self._once[vertex], self._twice[vertex]
        for near in self._near[vertex]:
            if self._own[near]:
                taken |= self._beyond[near]  # the path would end with `vertex`
            if self._own[near] & twice:
                taken |= self._once[near]  # the path would have `vertex` inside
        return taken

    def _give(self, vertex: int, colour: int) -> None:
        own, once, twice, beyond = self._own, self._once, self._twice, self._beyond
        own[vertex] = colour
        for near in self._near[vertex]:
            if own[near] & twice[vertex]:
                beyond[near] |= colour
            if once[near] & colour & ~twice[near]:
                twice[near] |= colour
                for other in self._near[near]:
                    if own[other] == colour:
                        beyond[other] |= own[near]
            elif twice[near] & colour:
                beyond[vertex] |= own[near]
            once[near] |= colour


def sources(pattern: Pattern, colours: np.ndarray) -> np.ndarray:
    """For each entry of a symmetric pattern the entry whose product shows both: itself, or the opposite one.

    Both have the same, so that the matrix is symmetric to the last digit.
    """
    rows, columns = pattern.rows, pattern.columns
    count = number_of(colours)
    _, label, times = np.unique(rows * count + colours[columns], return_inverse=True, return_counts=True)
    alone = times[label] == 1
    opposite = np.lexsort((rows, columns))
    itself = np.arange(len(rows))
    lower = np.minimum(itself, opposite)
    return np.where(alone[lower], lower, np.maximum(itself, opposite))
