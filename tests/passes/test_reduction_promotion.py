"""Additions to one element in an inner loop become a carried sum and one addition after the loop."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dsim.backends.faults import Fault
from dsim.backends.reference.source import run
from dsim.ir.check import check
from dsim.ir.nodes import Accumulate, For, If, KernelIR
from dsim.ir.show import show
from dsim.ir.types import i32
from dsim.ir.walk import blocks
from dsim.passes.reduction_promotion import promote_reductions
from dsim.passes.simplify import finish, simplify
from tests.building import Building


def additions(kernel: KernelIR) -> list[tuple[str, int]]:
    """The memory of each accumulation left and in how many loops it stands."""
    after = promote_reductions(kernel)
    check(after)
    found: list[tuple[str, int]] = []

    def scan(block, depth: int) -> None:
        for s in block.statements:
            if isinstance(s, Accumulate):
                found.append((s.memory.name, depth))
            for inner in blocks(s):
                scan(inner, depth + isinstance(s, For))

    scan(after.body, 0)
    return sorted(found)


def test_pairs_of_bodies(golden) -> None:
    k = Building("energy")
    x, U = k.field("x", 8), k.field("U")
    with k.loop("i", 0, 8) as i, k.loop("j", 0, 8) as j:
        r = k.load(x, i.i) - k.load(x, j.i)
        k.accumulate(x, i.i, r)
        k.accumulate(U, r * r)
        k.accumulate(x, j.i, -r)
        k.accumulate(U, 1.0)
    # x is read in the loop: only U's sum may be kept
    assert additions(k.kernel()) == [("U", 1), ("x", 2), ("x", 2)]
    golden(show(finish(simplify(adjoint_of_pairs()))))


def adjoint_of_pairs() -> KernelIR:
    k = Building("energy_adjoint")
    x, bar, U = k.field("x", 8), k.field("x", 8, derivative=("bar",)), k.field("U", derivative=("bar",))
    with k.loop("i", 0, 8) as i, k.loop("j", 0, 8) as j:
        g = (k.load(x, i.i) - k.load(x, j.i)) * k.load(U)
        k.accumulate(bar, i.i, g)
        k.accumulate(bar, j.i, -g)
        k.accumulate(bar, i.i, g)
    return k.kernel()


def test_the_numbers_stay() -> None:
    kernel = adjoint_of_pairs()
    rng = np.random.default_rng(1)
    buffers = {m.key: rng.normal(size=m.shape) for m in kernel.memories}
    again = {key: b.copy() for key, b in buffers.items()}
    run(kernel, buffers)
    run(finish(simplify(kernel)), again)
    np.testing.assert_allclose(again["x", ("bar",)], buffers["x", ("bar",)], rtol=1e-13)


@pytest.mark.parametrize(
    ("touch", "kept"),
    [
        (lambda k, x, i, j: None, 1),
        (lambda k, x, i, j: k.accumulate(x, j, 2.0), 1),
        (lambda k, x, i, j: k.load(x, i + 1), 1),  # certainly another element
        (lambda k, x, i, j: k.load(x, i), 2),
        (lambda k, x, i, j: k.load(x, j), 2),
        (lambda k, x, i, j: k.store(x, j, 1.0), 2),
        (lambda k, x, i, j: k.accumulate(x, j, 1.0, op="max"), 2),
        (lambda k, x, i, j: k.swap_in(x, j, 1.0), 2),
    ],
)
def test_only_other_additions_may_touch_the_memory(touch, kept: int) -> None:
    k = Building()
    x = k.field("x", 8)
    with k.loop("i", 0, 7) as i, k.loop("j", 0, 4) as j:
        k.accumulate(x, i.i, 1.0)
        touch(k, x, i.i, j.i)
    assert ("x", kept) in additions(k.kernel())
    assert ("x", 3 - kept) not in additions(k.kernel())


def test_three_loops_add_once_in_the_outermost() -> None:
    k = Building()
    x, n = k.field("x", 8), k.param("n", i32)
    with k.loop("i", 0, 8) as i, k.loop("j", 0, n), k.loop("l", 0, n) as inner:
        k.accumulate(x, i.i, inner.i.cast(k.float_type))
    assert additions(k.kernel()) == [("x", 1)]


def test_top_level_loops_and_exact_kernels_stay() -> None:
    k = Building()
    U = k.field("U")
    with k.loop("i", 0, 8):
        k.accumulate(U, 1.0)
    kernel = k.kernel()
    assert promote_reductions(kernel) is kernel
    k = Building()
    U = k.field("U")
    with k.loop("i", 0, 8), k.loop("j", 0, 8):
        k.accumulate(U, 1.0)
    kernel = replace(k.kernel(), exact=True)
    assert promote_reductions(kernel) is kernel


def test_a_product_or_a_minimum_is_not_a_sum() -> None:
    k = Building()
    U = k.field("U")
    with k.loop("i", 0, 8), k.loop("j", 0, 8):
        k.accumulate(U, 1.0, op="max")
    assert additions(k.kernel()) == [("U", 2)]


def test_additions_in_branches_are_carried_through_them() -> None:
    k = Building()
    x, v = k.field("x", 8), k.field("v", 4)
    with k.loop("i", 0, 8) as i, k.loop("j", 0, 4) as j:
        value = k.load(v, j.i)
        k.branch(value > 0.0, lambda: k.accumulate(x, i.i, value), lambda: k.accumulate(x, i.i, -value * 2.0))
        k.branch(value > 2.0, lambda: k.accumulate(x, i.i, 1.0))
    kernel = k.kernel()
    assert additions(kernel) == [("x", 1)]
    buffers = {("x", ()): np.zeros(8), ("v", ()): np.array([1.0, -2.0, 3.0, 0.0])}
    run(finish(simplify(kernel)), buffers)
    assert np.all(buffers["x", ()] == 1 + 4 + 3 + 1 + 0)


def outside(trips: int, condition: bool) -> KernelIR:
    """Adds to ``x[n]`` in an inner loop of so many trips, perhaps only in even ones."""
    k = Building()
    x, n, stop = k.field("x", 4), k.param("n", i32), k.param("stop", i32)
    with k.loop("i", 0, 1 + 1), k.loop("j", 0, stop) as j:
        if condition:
            k.branch(j.i > 2, lambda: k.accumulate(x, n, 1.0))
        else:
            k.accumulate(x, n, 1.0)
    kernel = k.kernel()
    assert additions(kernel) == [("x", 1)]
    return kernel


@pytest.mark.parametrize("condition", [False, True])
def test_an_element_that_does_not_exist_is_not_touched_where_no_trip_did(condition: bool) -> None:
    kernel = finish(simplify(outside(4, condition)))
    assert any(isinstance(s, If) for s in kernel.body.statements[0].body.statements)
    run(kernel, {("x", ()): np.zeros(4)}, (7, 0))
    with pytest.raises(Fault):
        run(kernel, {("x", ()): np.zeros(4)}, (7, 4))
    there = {("x", ()): np.zeros(4)}
    run(kernel, there, (3, 4))
    assert list(there["x", ()]) == [0, 0, 0, 2 if condition else 8]


def test_integers_add_up_too() -> None:
    k = Building()
    n = k.field("n", type=i32)
    with k.loop("i", 0, 8), k.loop("j", 0, 8) as j:
        k.accumulate(n, j.i)
    kernel = k.kernel()
    assert additions(kernel) == [("n", 1)]
    buffers = {("n", ()): np.zeros((), np.int32)}
    run(promote_reductions(kernel), buffers)
    assert buffers["n", ()] == 8 * 28
