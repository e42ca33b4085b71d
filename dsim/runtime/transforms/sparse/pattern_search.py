"""The search for the sparsity pattern of a matrix that is known by products with it.

The columns are a tree of blocks. A row depends on a block where the product with random numbers in the block
is not 0. Blocks of one level whose parents share no row are probed in one product, so that a stencil is found
by about as many products as it has colours, times the number of levels. Rows in which too many blocks meet
are left out, and are found by a product from the left each.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dsim.runtime.transforms.sparse.block_tree import BlockTree, Refinement
from dsim.runtime.transforms.sparse.colouring import coloured, longest_rows
from dsim.runtime.transforms.sparse.counted_products import Products, ProductSide
from dsim.runtime.transforms.sparse.sparsity_pattern import Pattern

_FEW = 32  # columns that are probed one by one
_FIRST = 16  # blocks of the first level that is probed

Shapes = Sequence[tuple[int, ...]]


def found_pattern(products: Products, rows: Shapes, columns: Shapes, random: np.random.Generator) -> Pattern:
    """Where the matrix is not 0, but for entries that cancelled in a product, which is improbable.

    Parameters
    ----------
    products : Products
        The matrix.
    rows, columns : sequence of tuple of int
        The shapes of the fields that they belong to.
    random : Generator
        Gives the seeds.
    """
    height, width = products.shape
    if not height or not width:
        return Pattern.of([], [], products.shape)
    # n entries in few rows make long rows: the shorter side of products is probed
    transposed = not products.symmetric and height * products.reverse_cost < width
    side = ProductSide(products, transposed)
    found = _Probing(side, rows if transposed else columns, random).pattern()
    return found.transposed if transposed else found


class _Probing:
    """The search from one side, by blocks of columns.

    What is known of a level are pairs of a row and a block on which it depends.
    """

    def __init__(self, side: ProductSide, columns: Shapes, random: np.random.Generator) -> None:
        self._side, self._random = side, random
        self._tree = BlockTree(columns)
        self._apart = np.zeros(side.shape[0], bool)  # rows that are found by themselves
        self._rows = self._blocks = np.zeros(0, np.intp)

    def pattern(self) -> Pattern:
        """The entries that are not 0."""
        depth = self._tree.depth
        level = depth if self._side.shape[1] <= _FEW else self._tree.level_of(_FIRST)
        self._first(level)
        while level < depth:
            self._leave_out_long_rows(depth - level)
            after = depth if depth - level <= 2 else level + 1
            self._refine(level, after)
            level = after
        rows, columns = self._apart_entries()
        columns = np.concatenate([self._tree.numbers()[self._blocks], columns])
        return Pattern.of(np.concatenate([self._rows, rows]), columns, self._side.shape)

    def _first(self, level: int) -> None:
        """Probes each block by itself."""
        products = self._side.batches(self._tree.blocks(level), self._side.draw(self._random))
        found = [(rows, low + at) for low, _, result in products for rows, at in [result.nonzero()]]
        self._rows, self._blocks = (np.concatenate(parts) for parts in zip(*found, strict=True))

    def _leave_out_long_rows(self, levels: int) -> None:
        """Leaves out the rows in which so many blocks meet that they are cheaper by themselves."""
        degrees = np.bincount(self._rows, minlength=self._side.shape[0])
        price = 2.0 * levels
        limit, cost = longest_rows(degrees, price, self._side.other_cost)
        if 2 * cost < price * degrees.max(initial=0):  # both are estimates
            self._leave_out(degrees > limit)

    def _leave_out(self, rows: np.ndarray) -> None:
        self._apart |= rows
        stay = ~self._apart[self._rows]
        self._rows, self._blocks = self._rows[stay], self._blocks[stay]

    def _refine(self, level: int, after: int) -> None:
        """Goes from the blocks of a level to their parts. Blocks that stay as they are need no product.

        A row that depends on a block, and did not seem to before, as numbers cancelled, is left out.
        """
        parts = Refinement(self._tree, level, after)
        divided = parts.counts > 1
        probed = divided[self._blocks]
        known = self._rows[probed], self._blocks[probed]
        colours = coloured(Pattern.of(*known, (self._side.shape[0], len(divided))))
        labels = colours * parts.counts.max()
        groups = np.where(colours[parts.parents] >= 0, labels[parts.parents] + parts.rank[parts.children], -1)
        used, groups = np.unique(np.append(groups, -1), return_inverse=True)
        rows, blocks = parts.expanded(*known)
        at = np.searchsorted(used, labels[parts.parent[blocks]] + parts.rank[blocks]) - 1
        values, others = self._side.entries(
            groups[:-1] - 1, self._side.draw(self._random), rows, at, self._apart
        )
        self._rows = np.concatenate([rows[values != 0], self._rows[~probed]])
        self._blocks = np.concatenate([blocks[values != 0], parts.first[self._blocks[~probed]]])
        self._leave_out(others)

    def _apart_entries(self) -> tuple[np.ndarray, np.ndarray]:
        """The entries of the rows that were left out."""
        rows = np.flatnonzero(self._apart)
        groups = np.where(self._apart, np.cumsum(self._apart) - 1, -1)
        found = [np.zeros((2, 0), np.intp)]
        for low, _, result in self._side.other.batches(groups, np.ones(len(groups))):
            columns, at = result.nonzero()
            found.append(np.stack([rows[low + at], columns]))
        entries = np.concatenate(found, axis=1)
        return entries[0], entries[1]
