"""Products with rows that were written out become loops over columns; the numbers stay."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from dsim.ir.nodes import Accumulate, For, KernelIR, Load
from dsim.ir.show import show
from dsim.ir.types import f32
from dsim.ir.walk import statements
from dsim.passes.dead_code_elimination import eliminate_dead_code
from dsim.passes.parallelization import parallel
from dsim.passes.rerolling.loops import reroll_rows
from dsim.passes.simplify import simplify
from tests.building import Building
from tests.passes.agreement import agree
from tests.passes.rerolling.layers import Layer

pytestmark = pytest.mark.usefixtures("quick_code")

N = 9  # columns of most matrices here


def rerolled(kernel: KernelIR) -> KernelIR:
    """The kernel with loops, after a comparison on whole numbers, whose sums are exact."""
    arguments = [p.type.numpy.type(2) for p in kernel.params]
    return eliminate_dead_code(agree(kernel, reroll_rows, *arguments))


def layer(*change: Callable[[Building], None], rows: int = 5, columns: int = N, first: int = 0) -> KernelIR:
    """``y[i] = (b[i] + sum(w[i, j] * q[j])) ** 2`` and the adjoint of that, as a kernel of one loop."""
    k = Building("layer", f32)
    w, gw = k.field("w", rows, columns + first), k.field("gw", rows, columns + first)
    q, gq, b, y = (k.field(n, max(rows, columns)) for n in ("q", "gq", "b", "y"))
    with k.loop("i", 0, rows) as i:
        s = k.load(b, i.i)
        inputs = [k.load(q, j) for j in range(columns)]
        weights = [k.load(w, i.i, j + first) for j in range(columns)]
        for x, weight in zip(inputs, weights, strict=True):
            s = s + weight * x * 3.0
        k.store(y, i.i, s * s)
        for j, (x, weight) in enumerate(zip(inputs, weights, strict=True)):
            k.accumulate(gw, i.i, j + first, x * (s * 6.0))
            k.accumulate(gq, j, weight * (s * 6.0))
        for each in change:
            each(k)
    return k.kernel()


def straight(kernel: KernelIR) -> tuple[int, int]:
    """How many elements of rows are loaded, and added to, one by one."""
    body = [s for loop in statements(kernel.body) if isinstance(loop, For) for s in loop.body.statements]
    loads = [s for s in body if isinstance(s, Load) and s.memory.name == "w"]
    sums = [s for s in body if isinstance(s, Accumulate) and s.memory.name == "gw"]
    return len(loads), len(sums)


def test_what_it_writes(golden: Callable[[str], None]) -> None:
    golden(show(rerolled(layer())))


def test_a_layer_has_no_row_left() -> None:
    """One in the loop of dot products, one in that which adds to rows."""
    assert straight(rerolled(layer())) == (2, 1)
    assert straight(rerolled(layer(first=3))) == (2, 1)


@pytest.mark.parametrize("columns", [7, 8])
def test_few_columns_stay(columns: int) -> None:
    assert straight(rerolled(layer(columns=columns))) == ((7, 7) if columns == 7 else (2, 1))


def test_what_runs_as_it_is_written_stays() -> None:
    kernel = replace(simplify(layer()), exact=True)
    assert reroll_rows(kernel) is kernel


def test_many_rows_stay_for_threads() -> None:
    kernel = simplify(layer(rows=5000))
    assert reroll_rows(kernel) is kernel


@pytest.mark.parametrize(
    ("rows", "columns", "left"),
    [(128, 8, 1), (129, 8, 8), (129, 16, 16), (129, 32, 1)],
)
def test_long_loops_without_an_adjoint_need_wide_rows(rows: int, columns: int, left: int) -> None:
    k = Building("long", f32)
    w, y, q = k.field("w", rows, columns), k.field("y", rows), k.field("q", columns)
    with k.loop("i", 0, rows) as i:
        k.store(y, i.i, sum((k.load(w, i.i, j) * k.load(q, j) for j in range(columns)), k.load(y, i.i)))
    assert straight(rerolled(k.kernel())) == (left, 0)


def test_long_loops_with_an_adjoint() -> None:
    assert straight(rerolled(layer(rows=129, columns=8))) == (8, 8)
    assert straight(rerolled(layer(rows=129, columns=16))) == (2, 1)


def test_columns_far_from_the_first_stay() -> None:
    assert straight(rerolled(layer(first=27))) == (2, 1)
    assert straight(rerolled(layer(first=28))) == (N, N)


def test_rows_far_from_the_first_stay() -> None:
    k = Building("last", f32)
    w, y = k.field("w", 40_000, 8), k.field("y", 40_000)
    with k.loop("i", 39_998, 40_000) as i:
        k.store(y, i.i, sum((k.load(w, i.i, j) for j in range(8)), k.load(y, i.i)))
    kernel = simplify(k.kernel())
    assert reroll_rows(kernel) is kernel


def test_no_trips() -> None:
    k = Building("none", f32)
    w, y = k.field("w", 4, N), k.field("y", 4)
    with k.loop("i", 3, 3) as i:
        k.store(y, i.i, sum((k.load(w, i.i, j) for j in range(N)), k.load(y, i.i)))
    kernel = simplify(k.kernel())
    assert reroll_rows(kernel) is kernel


def field(k: Building, name: str) -> object:
    """A memory that the statements so far use."""
    return next(s.memory for s in k._open[-1] if getattr(s, "memory", None) and s.memory.name == name)


def writes_the_matrix(k: Building) -> None:
    k.store(field(k, "w"), 2, 3, 1.0)


def reads_what_it_adds_to(k: Building) -> None:
    k.accumulate(field(k, "y"), 0, k.load(field(k, "gw"), 1, 2))


def adds_beside_the_row(k: Building) -> None:
    k.accumulate(field(k, "gw"), 2, 3, 5.0)


def uses_the_value_before(k: Building) -> None:
    k.store(field(k, "b"), 4, k.swap_in(field(k, "gw"), 0, 0, 1.0))


def has_a_maximum(k: Building) -> None:
    k.accumulate(field(k, "gw"), 2, 3, 5.0, op="max")


def adds_another_number(k: Building) -> None:
    k.accumulate(field(k, "gq"), 2, 5.0)


def reads_the_inputs_sum(k: Building) -> None:
    k.store(field(k, "y"), 1, k.load(field(k, "gq"), 2))


def writes_an_input(k: Building) -> None:
    k.store(field(k, "q"), 1, 3.0)


@pytest.mark.parametrize(
    ("change", "left"),
    [
        (writes_the_matrix, (N, 1)),
        (reads_what_it_adds_to, (2, N)),
        (adds_beside_the_row, (2, N + 1)),
        (uses_the_value_before, (2, N + 1)),
        (has_a_maximum, (2, N + 1)),
        (adds_another_number, (2, 1)),
        (reads_the_inputs_sum, (N + 1, 1)),
    ],
    ids=lambda v: v.__name__ if callable(v) else "",
)
def test_what_else_the_loop_does(change: Callable[[Building], None], left: tuple[int, int]) -> None:
    assert straight(rerolled(layer(change))) == left


def test_inputs_that_the_loop_changes_stay() -> None:
    assert straight(rerolled(layer(writes_an_input)))[0] > 1


def test_a_gap_between_columns_stays() -> None:
    k = Building("gap", f32)
    w, y, q = k.field("w", 4, 20), k.field("y", 4), k.field("q", 20)
    with k.loop("i", 0, 4) as i:
        s = k.load(y, i.i)
        for j in (*range(9), *range(10, 19)):
            s = s + k.load(w, i.i, j) * k.load(q, j)
        k.store(y, i.i, s)
    after = rerolled(k.kernel())
    assert straight(after) == (10, 0)  # a loop for the first nine, and the nine others


def test_a_column_beyond_the_matrix_stays() -> None:
    """Its index is a fault, which has a place in the program."""
    k = Building("beyond", f32)
    w, y = k.field("w", 4, 8), k.field("y", 4)
    with k.loop("i", 0, 4) as i:
        k.store(y, i.i, sum((k.load(w, i.i, j) for j in range(9)), k.load(y, i.i)))
    kernel = simplify(k.kernel())
    after = reroll_rows(kernel)
    assert straight(after)[0] >= 1
    assert any(isinstance(s, Load) and s.index[-1] == k.value(8) for s in statements(after.body))


@pytest.mark.parametrize("seed", range(60))
def test_random_layers(seed: int) -> None:
    rerolled(Layer(seed).kernel)


@pytest.mark.slow
def test_many_random_layers_have_rows() -> None:
    kernels = [parallel(simplify(Layer(seed).kernel)) for seed in range(60)]
    assert sum(reroll_rows(k) is not k for k in kernels) > 25
