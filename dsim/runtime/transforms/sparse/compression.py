"""Sparse matrices from products: pattern, colouring, compressed products, and their check.

Whatever pattern was used, the result is compared with products with random vectors, from both sides. Where
they differ an entry is missing, and the pattern is looked for anew.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array, issparse
from scipy.sparse.linalg import LinearOperator

from dsim.diagnostics import Diagnostic, GradientError
from dsim.runtime.fields.fields import kind_of
from dsim.runtime.transforms.selection import Selection
from dsim.runtime.transforms.sparse.colouring import Split, number_of, separated
from dsim.runtime.transforms.sparse.counted_products import Products, ProductSide
from dsim.runtime.transforms.sparse.pattern_search import found_pattern
from dsim.runtime.transforms.sparse.sparsity_pattern import Pattern
from dsim.runtime.transforms.sparse.star_colouring import sources, star_coloured

_TRIALS = 3
_ROUNDING = 64.0  # by how many units in the last place products may differ


class Compression(NamedTuple):
    """How a sparse matrix was found.

    Attributes
    ----------
    colours : int
        How many products have all entries: with groups of columns, and with groups of rows.
    row_colours : int
        How many of them are with groups of rows.
    bound : int
        The most entries in a row: no colouring of columns alone has fewer colours.
    forward, reverse : int
        All products with the matrix, and with its transpose, those that found the pattern and those
        that checked the result among them.
    """

    colours: int
    row_colours: int
    bound: int
    forward: int
    reverse: int


def compressed(
    operator: LinearOperator, rows: Selection, columns: Selection, pattern: Any, symmetric: bool
) -> tuple[csr_array, Compression]:
    """The matrix of an operator, and how it was found.

    Parameters
    ----------
    operator : LinearOperator
        Its products.
    rows, columns : Selection
        What its rows and columns belong to.
    pattern : sparse array or "auto"
        Where it may have entries; "auto" looks for that.
    symmetric : bool
        Whether it should equal its transpose.

    Raises
    ------
    GradientError
        When no pattern explains the products, or the pattern is no sparse array of the right shape.
    """
    given = None if _automatic(pattern) else _checked(pattern, operator.shape)
    precision = min((*rows.types, *columns.types), key=lambda t: np.finfo(t).bits)
    random = np.random.default_rng(0)
    spent = np.zeros(2, int)
    found: Pattern | None = None
    trials = _TRIALS + (given is not None)
    for trial in range(trials):
        last = trial == trials - 1
        products = Products(operator, symmetric and not last, precision)
        search = _Search(products, rows, columns, random, exact=not last)
        if trial or given is None:
            seen = search.pattern()
            found = seen if found is None else found.joined(seen)
        entries = given if found is None else found
        assert entries is not None
        colours, matrix = search.matrix(entries)
        spent += products.forward, products.reverse
        if matrix is not None:
            if found is not None:
                matrix.eliminate_zeros()
            return matrix, Compression(*colours, int(entries.degrees.max(initial=0)), *map(int, spent))
    message = (
        "the products of the derivative with vectors contradict each other, so that it has no sparse matrix"
    )
    advice = "compare both modes by `ds.check_grad`, or look for numbers that are not finite"
    raise GradientError(Diagnostic("argument", message, help=advice))


def _automatic(pattern: Any) -> bool:
    return pattern is True or (isinstance(pattern, str) and pattern == "auto")


def _checked(pattern: Any, shape: tuple[int, int]) -> Pattern:
    """The pattern that was given."""
    if not issparse(pattern) or pattern.shape != shape:
        got = f"one of shape {pattern.shape}" if issparse(pattern) else kind_of(pattern)
        message = f"`sparse=`: the pattern must be a sparse array of shape {shape}, got {got}"
        advice = 'pass "auto", or an array of scipy.sparse, such as the matrix of another state'
        raise GradientError(Diagnostic("argument", message, help=advice))
    entries = pattern.tocoo()
    return Pattern.of(entries.row, entries.col, shape)


class _Search:
    """One trial to find the matrix, by products with random vectors that are its own.

    With `exact`, products must be 0 outside of the pattern; otherwise they may be what their check takes for
    rounding, as where terms cancel in some products and leave a last digit in others.
    """

    def __init__(
        self,
        products: Products,
        rows: Selection,
        columns: Selection,
        random: np.random.Generator,
        exact: bool,
    ) -> None:
        self._products, self._random, self._exact = products, random, exact
        self._rows, self._columns = rows, columns

    def pattern(self) -> Pattern:
        """Where the matrix is not 0 at this state."""
        return found_pattern(self._products, self._rows.shapes, self._columns.shapes, self._random)

    def matrix(self, pattern: Pattern) -> tuple[tuple[int, int], Any]:
        """The numbers of colours, and the matrix; None when products differ from those with it."""
        if self._products.symmetric:
            pattern = pattern.joined(pattern.transposed)
            colours = star_coloured(pattern, self._columns.shapes)
            used, matrix = (number_of(colours), 0), self._symmetric(pattern, colours)
        else:
            shapes = self._rows.shapes, self._columns.shapes
            split = separated(pattern, self._products.reverse_cost, *shapes)
            by_row = number_of(split.row_colours)
            used, matrix = (number_of(split.column_colours) + by_row, by_row), self._recovered(pattern, split)
        return used, matrix if matrix is not None and self._verified(matrix) else None

    def _symmetric(self, pattern: Pattern, colours: np.ndarray) -> csr_array | None:
        """The entries of a symmetric pattern; None where products have others."""
        values, others = ProductSide(self._products, transposed=False).entries(
            colours,
            np.ones(len(colours)),
            pattern.rows,
            colours[pattern.columns],
            np.zeros(len(colours), bool),
        )
        missing = self._exact and others.any()
        return None if missing else self._filled(pattern, values[sources(pattern, colours)])

    def _filled(self, pattern: Pattern, values: np.ndarray) -> csr_array:
        dtype = np.result_type(self._products.operator.dtype, np.float32)  # SciPy has no sparse f16
        return pattern.filled(values.astype(dtype))

    def _recovered(self, pattern: Pattern, split: Split) -> csr_array | None:
        """The entries of the pattern, each from a product; None where products have others."""
        rows, columns = pattern.rows, pattern.columns
        by_row = split.by_row[rows]
        side = ProductSide(self._products, transposed=False)
        values = np.zeros(len(columns))
        values[~by_row], others = side.entries(
            split.column_colours,
            np.ones(pattern.shape[1]),
            rows[~by_row],
            split.column_colours[columns[~by_row]],
            split.by_row,
        )
        everywhere = np.ones(pattern.shape[1], bool)
        values[by_row], _ = side.other.entries(
            split.row_colours,
            np.ones(pattern.shape[0]),
            columns[by_row],
            split.row_colours[rows[by_row]],
            everywhere,
        )
        return None if self._exact and others.any() else self._filled(pattern, values)

    def _verified(self, matrix: Any) -> bool:
        """Whether it has the operator's products with random vectors, from both sides."""
        right = self._agree(self._products.right, matrix, self._rows.ends)
        transposed = csr_array(matrix.T)
        return right and self._agree(self._products.left, transposed, self._columns.ends)

    def _agree(self, multiply: Any, matrix: Any, ends: tuple[int, ...]) -> bool:
        """Whether products agree up to rounding.

        How much the run rounds is measured: the product with a sum of two vectors differs from the sum of
        theirs. What of this the entries do not explain, as terms cancel in the run, counts for all numbers of
        a field.
        """
        draws = self._products.draw(self._random, (matrix.shape[1], 2))
        seeds = np.column_stack([draws, draws.sum(axis=1)])
        unit = _ROUNDING * np.finfo(self._products.precision).eps
        with np.errstate(invalid="ignore", over="ignore"):
            known = multiply(seeds).astype(np.float64)
            exact = matrix.astype(np.float64)
            difference = np.abs(known - exact @ seeds).max(axis=1, initial=0)
            scale = (abs(exact) @ np.abs(seeds)).max(axis=1, initial=0)
            inner = np.abs(known[:, 2] - known[:, 0] - known[:, 1]) - unit * scale
        finite = np.isfinite(known).all(axis=1)
        starts = (0, *ends[:-1])
        of_field = [inner[a:b][finite[a:b]].max(initial=0) for a, b in zip(starts, ends, strict=True)]
        noise = np.repeat(of_field, np.diff((0, *ends)))
        tolerance = unit * scale + _ROUNDING * noise
        with np.errstate(invalid="ignore"):
            agree = np.isfinite(difference) == finite
            return bool((agree & (~finite | (difference <= tolerance))).all())
