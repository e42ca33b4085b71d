"""Loops over the rows of a matrix that are written out: sums of products, and what adds to whole rows."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tests.fuzz.drawing.expressions import Feature, Scope
from tests.fuzz.drawing.program import BlockSpec, FieldSpec, Head
from tests.fuzz.drawing.statements import Lines, Statements

COLUMNS = 8
ROWS, INPUTS = "w", "r"


def fields(rng: np.random.Generator, n: int) -> tuple[FieldSpec, FieldSpec]:
    """A matrix, and what its rows are multiplied by."""
    rows = np.array(np.round(rng.uniform(-1, 1, (n, COLUMNS)), 2))
    return (
        FieldSpec(ROWS, rows.shape, rows),
        FieldSpec(INPUTS, (COLUMNS,), np.array(np.round(rng.uniform(-1, 1, COLUMNS), 2))),
    )


def block(writing: Statements, head: Head, scope: Scope) -> BlockSpec:
    """A loop that goes through rows, without branches."""
    lines = _dot(writing, scope, 0)
    for _ in range(writing.some(1, 3)):
        ways: list[Callable[[Scope, int], Lines]] = [writing.local, writing.change]
        ways += [writing.store, writing.accumulate] * bool(writing.targets)
        ways += [lambda s, d: _dot(writing, s, d), lambda s, d: _outer(writing, s, d)]
        lines += writing.pick(*ways)(scope, 0)
    return BlockSpec(tuple(lines), head)


class Layers(Feature):
    """Those loops in any place."""

    def statements(self, writing: Statements, scope: Scope) -> list[Callable[[Scope, int], list[str]]]:
        """What writes a row's product, and what adds to a row."""
        return [lambda s, d: _dot(writing, s, d), lambda s, d: _outer(writing, s, d)]


def _row(writing: Statements, scope: Scope, column: str) -> str:
    """An element of that of the trip, as a rule."""
    size = next(f.shape[0] for f in (*writing.sources, *writing.targets) if f.name == ROWS)
    trips = [name for name, below in scope.below.items() if below <= size]
    row = writing.pick(*trips) if trips and writing.chance(85) else writing.index(size, scope)
    return f"{ROWS}[{row}, {column}]"


def _has(specs: tuple[FieldSpec, ...], name: str) -> bool:
    return any(f.name == name for f in specs)


def _factor(writing: Statements, scope: Scope, column: str) -> str:
    """What an element is multiplied by."""
    known = ["0.5", *(name for name in scope.floats if writing.chance(20))]
    if _has(writing.sources, INPUTS):
        known += [f"{INPUTS}[{column}]"] * 4
        known += [f"({INPUTS}[{column}] - {INPUTS}[0])", f"0.5 * {INPUTS}[{COLUMNS - 1} - {column}]"]
    return writing.pick(*known)


def _dot(writing: Statements, scope: Scope, depth: int) -> Lines:
    """The product of a row with something, in a new float."""
    name, column = writing.fresh("a"), writing.fresh("j")
    start = writing.pick("0.0", "0.0", writing.bounded(scope))
    product, end = _product(writing, scope, column), writing.pick("", "", f"{name} = ti.sin({name})")
    scope.floats.append(name)
    scope.mutable_floats.append(name)
    each = f"    {name} {writing.pick('+=', '+=', '-=')} {product}"
    return [f"{name} = {start}", f"for {column} in ti.static(range({COLUMNS})):", each, *filter(None, [end])]


def _product(writing: Statements, scope: Scope, column: str) -> str:
    if not _has(writing.sources, ROWS):
        return f"0.1 * {_factor(writing, scope, column)}"
    return f"{_factor(writing, scope, column)} * {_row(writing, scope, column)}"


def _outer(writing: Statements, scope: Scope, depth: int) -> Lines:
    """What is added to all of a row, and to what rows are multiplied by."""
    column, of = writing.fresh("j"), writing.pick(*scope.floats) if scope.floats else "0.3"
    lines: Lines = []
    if _has(writing.targets, ROWS):
        lines.append(f"    {_row(writing, scope, column)} += 0.1 * {of} * {_factor(writing, scope, column)}")
    if _has(writing.targets, INPUTS) and writing.chance(70):
        lines.append(f"    {INPUTS}[{column}] += 0.1 * {of} * {_product(writing, scope, column)}")
    if not lines:
        return _dot(writing, scope, depth)
    return [f"for {column} in ti.static(range({COLUMNS})):", *lines]
