"""Loops over a few neighbours of an element that data choose are written out; the numbers stay."""

from __future__ import annotations

import numpy as np
import pytest

from dsim.backends.cpu.machine import compile_kernel
from dsim.backends.reference.source import run
from dsim.ir.build import const
from dsim.ir.check import check
from dsim.ir.nodes import For, KernelIR
from dsim.ir.show import show
from dsim.ir.types import ScalarType, i8, i32, i64
from dsim.ir.walk import statements
from dsim.passes.loop_unrolling import unroll_short_loops
from dsim.passes.parallelization import parallel
from dsim.passes.simplify import finish, simplify
from tests.building import Building


def unrolled(kernel: KernelIR) -> KernelIR:
    """The kernel unrolled, after a comparison of what it computes on whole numbers, whose sums are exact."""
    kernel = parallel(simplify(kernel))
    after = unroll_short_loops(kernel)
    check(after)
    rng = np.random.default_rng(3)
    start = {m.key: rng.integers(0, 5, m.shape).astype(m.type.numpy) for m in kernel.memories}
    wanted, got, compiled = ({key: a.copy() for key, a in start.items()} for _ in range(3))
    returned = run(kernel, wanted)
    assert tuple(run(after, got)) == tuple(returned)
    assert compile_kernel(finish(kernel)).bind(compiled)() == tuple(v.item() for v in returned)
    for key, values in wanted.items():
        np.testing.assert_array_equal(got[key], values)
        np.testing.assert_array_equal(compiled[key], values)
    return after


def loops(kernel: KernelIR) -> int:
    return sum(isinstance(s, For) for s in statements(kernel.body))


def gathered(trips: int = 100, neighbours: int = 3, t: ScalarType = i32) -> KernelIR:
    """Sums over two axes of neighbours, carried by both loops, and a number for each neighbour."""
    k = Building("gathered")
    at, x, y, g = k.field("at", trips, type=t), k.field("x", 16, 16), k.field("y", trips), k.field("g", 12)
    with k.loop("p", 0, trips) as p:
        cell = k.load(at, p.i)
        with k.loop("i", const(0, t), const(neighbours, t), total=0.0) as i:
            with k.loop("j", const(2, t), const(-1, t), step=-1, total=i.total) as j:
                weight = k.load(x, cell + i.i, cell + j.i)
                k.accumulate(g, cell + j.i, weight)
                j.then(total=j.total + weight * 2.0)
            i.then(total=j.out("total") + 1.0)
        k.store(y, p.i, i.out("total"))
    return k.kernel()


def test_what_it_writes(golden) -> None:
    golden(show(unrolled(gathered())))


@pytest.mark.parametrize("t", [i8, i32, i64], ids=str)
def test_neighbours(t: ScalarType) -> None:
    assert loops(unrolled(gathered(t=t))) == 1


def test_nothing_to_do_or_too_much() -> None:
    for kernel in (gathered(neighbours=0), gathered(neighbours=1)):
        assert loops(unrolled(kernel)) == 1
    for kernel in (gathered(trips=40), gathered(neighbours=9)):
        assert loops(unrolled(kernel)) == 3


def test_a_row_of_the_loops_own_element_stays_a_loop() -> None:
    k = Building("rows")
    x, y, a = k.field("x", 100, 8), k.field("y", 100, 8), k.field("a", 100)
    with k.loop("p", 0, 100) as p, k.loop("c", 0, 8) as c:
        k.store(y, p.i, c.i, k.load(x, p.i, c.i) * k.load(a, p.i))
    assert loops(unrolled(k.kernel())) == 2


def test_branches_are_copied() -> None:
    """One in the loops, one behind them, which reads what they carry."""
    k = Building("branches")
    at, x, y = k.field("at", 100, type=i32), k.field("x", 12), k.field("y", 100)
    with k.loop("p", 0, 100) as p:
        cell = k.load(at, p.i)
        with k.loop("i", 0, 3, total=0.0) as i:
            v = k.load(x, cell + i.i)
            (w,) = k.branch(v > 2.0, lambda: (v * 2.0,), lambda: (k.load(x, i.i),))
            i.then(total=i.total + w)
        total = i.out("total")
        k.branch(total > 9.0, lambda: k.store(y, p.i, total - 9.0))
    assert loops(unrolled(k.kernel())) == 1


def test_branches_with_additions_keep_their_loops() -> None:
    k = Building("branches")
    at, x, g = k.field("at", 100, type=i32), k.field("x", 12), k.field("g", 12)
    with k.loop("p", 0, 100) as p, k.loop("i", 0, 3) as i:
        v = k.load(x, k.load(at, p.i) + i.i)
        k.branch(v > 2.0, lambda: k.accumulate(g, i.i, v))
    assert loops(unrolled(k.kernel())) == 2
