"""One small program under each way of keeping residuals, alone and combined, as readable text.

The program takes three steps of ``z = sin(z) * v[k]; v[k] = z`` from each element of a field. What differs is
where the state stands: in a carried variable, in a buffer, or in the field itself.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest

from dsim.autodiff import reverse
from dsim.ir.check import check
from dsim.ir.nodes import KernelIR
from dsim.ir.show import show
from dsim.ir.term import Term
from dsim.ir.types import i32
from dsim.passes.parallelization import parallel
from dsim.passes.saving.placement import place_residuals
from dsim.passes.simplify import simplify
from tests.building import Building

BUDGET = 256  # bytes: more than three trips save


def without_state(trips: int | None) -> KernelIR:
    """A sum whose trips depend on nothing but their number."""
    k = Building("without_state")
    x, y, n = k.field("x", 5), k.field("y", 5), length(k, trips)
    with k.loop("i", 0, 5) as row, k.loop("t", 0, n) as t:
        k.accumulate(y, row.i, (k.load(x, row.i) * t.i.cast(k.float_type)).op("sin"))
    return adjoint(k, x.key, y.key)


def in_a_variable(trips: int | None) -> KernelIR:
    k = Building("in_a_variable")
    x, y, n = k.field("x", 5), k.field("y", 5), length(k, trips)
    with k.loop("i", 0, 5) as row:
        with k.loop("t", 0, n, z=k.load(x, row.i)) as t:
            t.then(z=t.z.op("sin"))
        k.store(y, row.i, t.out("z"))
    return adjoint(k, x.key, y.key)


def in_a_buffer(size: int, trips: int | None) -> KernelIR:
    k = Building("in_a_buffer")
    x, y, n = k.field("x", 5), k.field("y", 5), length(k, trips)
    with k.loop("i", 0, 5) as row:
        v = k.buffer("v", size)
        k.store(v, 0, k.load(x, row.i))
        with k.loop("t", 0, n) as t:
            here, after = t.i.op("mod", size), (t.i + 1).op("mod", size)
            k.store(v, after, k.load(v, here).op("sin") * k.load(v, after))
        k.store(y, row.i, k.load(v, 0))
    return adjoint(k, x.key, y.key)


def in_the_field(trips: int | None) -> KernelIR:
    k = Building("in_the_field")
    x, n = k.field("x", 5, 2), length(k, trips)
    with k.loop("i", 0, 5) as row, k.loop("t", 0, n) as t:
        here, after = t.i.op("mod", 2), (t.i + 1).op("mod", 2)
        k.store(x, row.i, after, k.load(x, row.i, here).op("sin") * k.load(x, row.i, after))
    return adjoint(k, x.key, entry=frozenset({x.key}))


def length(k: Building, trips: int | None) -> Term | int:
    return k.param("n", i32) if trips is None else trips


def adjoint(k: Building, *active: tuple, entry: frozenset = frozenset()) -> KernelIR:
    made = reverse(k.kernel(), frozenset(active), entry=entry).kernel
    return parallel(simplify(made))


small, large = partial(in_a_buffer, 3), partial(in_a_buffer, 100)


@pytest.mark.parametrize(
    ("program", "trips"),
    [
        pytest.param(without_state, 3, id="recomputation"),
        pytest.param(in_a_variable, 3, id="copy_of_a_value"),
        pytest.param(small, 3, id="copy_of_a_buffer"),
        pytest.param(large, 3, id="undo_log_of_a_buffer"),
        pytest.param(in_the_field, 3, id="undo_log_of_a_field"),
        pytest.param(in_a_variable, None, id="segments_of_a_value"),
        pytest.param(small, None, id="segments_of_a_buffer"),
        pytest.param(large, None, id="segments_with_an_undo_log"),
    ],
)
def test_strategies(program: Callable[[int | None], KernelIR], trips: int | None, golden) -> None:
    after = place_residuals(program(trips), BUDGET)
    check(after)
    golden(show(after))


def test_a_budget_that_all_trips_fit_leaves_loops_whole() -> None:
    kernel = in_a_variable(3)
    assert place_residuals(kernel, 3 * 8) is kernel
    assert place_residuals(kernel, 3 * 8 - 1) is not kernel
