"""Colourings of sparsity patterns: columns that share no row need one product together.

At most one column of a colour has an entry in a row, so that all entries can be read off the product with the
sum of the unit vectors of a colour. The colourings are greedy ones of the graph in which columns that share
a row are neighbours (distance-2 colourings of the pattern's bipartite graph), in the order of the columns,
largest degree first, by the classes of a lattice, and repeated by the classes of the best one, which never
needs more colours (iterated greedy, Culberson).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from dsim.runtime.transforms.sparse.sparsity_pattern import Pattern

_COLOURINGS = 6
_ROUNDS, _TRIALS = 8, 256  # of random lattices
_SAMPLE = 32  # rows that a lattice is tried on


def coloured(pattern: Pattern, shapes: Sequence[tuple[int, ...]] = ()) -> np.ndarray:
    """A colour for each column, from 0, so that columns of one colour share no row; −1 for an empty one.

    Parameters
    ----------
    pattern : Pattern
        Which entries there are.
    shapes : sequence of tuple of int
        The shapes of the fields whose numbers the columns belong to: what stencils are regular on. Without
        them little time is spent.
    """
    degrees = pattern.degrees
    crowded = pattern.among(degrees > 1)  # the other rows allow all colours
    bound, columns = degrees.max(initial=0), crowded.transposed
    filled = np.flatnonzero(pattern.transposed.degrees)
    best = _greedy(columns, filled)
    orders = [lambda: -(columns.filled(np.ones(len(columns.columns))) @ degrees)]
    if shapes:
        orders.append(lambda: _lattice(crowded, shapes, bound))
    for _ in range(_COLOURINGS if shapes else 1):
        if number_of(best) <= bound:
            break
        classes = orders.pop()() if orders else -best
        order = filled[np.argsort(classes[filled], kind="stable")]
        best = min(best, _greedy(columns, order), key=number_of)
    return best


def number_of(colours: np.ndarray) -> int:
    """How many colours there are."""
    return int(colours.max(initial=-1)) + 1


def _greedy(columns: Pattern, order: np.ndarray) -> np.ndarray:
    """The first colour that is free in all rows of a column, column by column. Sets of colours are bits."""
    starts, rows = columns.ends.tolist(), columns.columns.tolist()
    chosen = [-1] * columns.shape[0]
    used = [0] * columns.shape[1]
    for column in order.tolist():
        own = rows[starts[column] : starts[column + 1]]
        taken = 0
        for row in own:
            taken |= used[row]
        free = ~taken & (taken + 1)
        for row in own:
            used[row] |= free
        chosen[column] = free.bit_length() - 1
    return np.array(chosen, np.intp)


def _lattice(pattern: Pattern, shapes: Sequence[tuple[int, ...]], bound: int) -> np.ndarray:
    """Classes ``(a · coordinates) mod colours`` that separate most entries of a sample of rows.

    Stencils on grids have such colourings with no more colours than entries: ``(i + 2 j) mod 5`` for five
    points. The coefficients are found by trial.
    """
    random = np.random.default_rng(0)
    longest = np.flatnonzero(pattern.degrees == bound)
    rows = random.choice(longest, min(_SAMPLE, len(longest)), replace=False)
    places = _coordinates(shapes)
    entries = places[np.stack([pattern.columns[pattern.ends[r] :][:bound] for r in rows])]
    best, fewest, modulus = np.zeros(entries.shape[-1], np.intp), entries.size, bound
    for colours in np.repeat(np.arange(bound, bound + 3), _ROUNDS):
        if not fewest:
            break
        factors = random.integers(0, colours, (_TRIALS, entries.shape[-1]))
        classes = np.sort(entries @ factors.T % colours, axis=1)
        clashes = (np.diff(classes, axis=1) == 0).sum(axis=(0, 1))
        if clashes.min() < fewest:
            best, fewest, modulus = factors[clashes.argmin()], clashes.min(), colours
    return places @ best % modulus


def _coordinates(shapes: Sequence[tuple[int, ...]]) -> np.ndarray:
    """For each number its field and its index there."""
    axes = max(map(len, shapes))
    padded = [shape + (1,) * (axes - len(shape)) for shape in shapes]
    return np.concatenate(
        [
            np.stack([np.full(np.prod(shape, dtype=int), leaf), *(i.ravel() for i in np.indices(shape))], 1)
            for leaf, shape in enumerate(padded)
        ]
    )


class Split(NamedTuple):
    """Which rows are found by products from the left, and the colours of both sides."""

    by_row: np.ndarray
    row_colours: np.ndarray
    column_colours: np.ndarray

    def cost(self, reverse_cost: float) -> float:
        """Of all products, in those with the matrix."""
        return number_of(self.column_colours) + reverse_cost * number_of(self.row_colours)


def separated(
    pattern: Pattern,
    reverse_cost: float,
    rows: Sequence[tuple[int, ...]],
    columns: Sequence[tuple[int, ...]],
) -> Split:
    """The cheapest of: columns alone, rows alone, the longest rows by themselves and columns for the others.

    Parameters
    ----------
    pattern : Pattern
        Which entries there are.
    reverse_cost : float
        How many products from the right cost as much as one from the left.
    rows, columns : sequence of tuple of int
        The shapes of the fields that rows and columns belong to.
    """
    degrees, column_degrees = pattern.degrees, pattern.transposed.degrees
    limit, bound = longest_rows(degrees, 1.0, reverse_cost)
    longest = degrees.max(initial=0)
    trials = sorted(
        {(longest, longest), (bound, limit), (reverse_cost * column_degrees.max(initial=0), 0)},
        key=lambda trial: (trial[0], -trial[1]),
    )
    best: Split | None = None
    for least, most in trials:
        if best is None or least < best.cost(reverse_cost):
            found = _split(pattern, degrees > most, rows, columns)
            best = found if best is None else min(best, found, key=lambda s: s.cost(reverse_cost))
    assert best is not None
    return best


def _split(
    pattern: Pattern,
    by_row: np.ndarray,
    rows: Sequence[tuple[int, ...]],
    columns: Sequence[tuple[int, ...]],
) -> Split:
    long, short = pattern.among(by_row).transposed, pattern.among(~by_row)
    return Split(by_row, coloured(long, rows), coloured(short, columns))


def longest_rows(degrees: np.ndarray, price: float, reverse_cost: float) -> tuple[int, float]:
    """The degree beyond which rows are better found one by one, and what all then cost at least.

    The others cost `price` for each entry of the longest among them.
    """
    limits, counts = np.unique(np.append(degrees, 0), return_counts=True)
    longer = len(degrees) + 1 - np.cumsum(counts)
    costs = price * limits + reverse_cost * longer
    best = int(costs.argmin())
    return int(limits[best]), float(costs[best])
