"""Loops are marked parallel by the analysis of the final kernel, or by the user's annotation."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dsim.backends.reference.source import run
from dsim.ir.check import check
from dsim.ir.nodes import For, KernelIR
from dsim.ir.show import show
from dsim.ir.types import i32
from dsim.ir.walk import statements
from dsim.passes.parallelization import parallel
from tests.building import Building, marked_parallel


def flags(kernel: KernelIR) -> dict[str, bool]:
    return {s.index.name: s.parallel for s in statements(kernel.body) if isinstance(s, For)}


def three_loops() -> KernelIR:
    k = Building()
    x, U = k.field("x", 8), k.field("U")
    with k.loop("own", 0, 8) as i:
        k.store(x, i.i, k.load(x, i.i) * 2.0)
    with k.loop("neighbour", 1, 8) as i:
        k.store(x, i.i, k.load(x, i.i - 1))
    with k.loop("summed", 0, 8) as i, k.loop("inner", 0, 4):
        k.accumulate(U, k.load(x, i.i))
    return k.kernel()


def test_independent_iterations_are_parallel() -> None:
    assert flags(parallel(three_loops())) == {"own": True, "neighbour": False, "summed": True, "inner": True}


def test_what_a_transform_left_is_looked_at_again() -> None:
    assert not flags(parallel(marked_parallel(three_loops())))["neighbour"]


def test_what_the_person_said_goes_first() -> None:
    kernel = three_loops()
    own, neighbour = (s.index for s in kernel.body.statements[:2] if isinstance(s, For))
    found = flags(parallel(kernel, {own: False, neighbour: True}))
    assert (found["own"], found["neighbour"], found["summed"]) == (False, True, True)


@pytest.mark.parametrize(
    ("start", "stop", "expected"),
    [
        (lambda n: 7, lambda n: -1, "0..8"),
        (lambda n: n - 1, lambda n: -1, "0..n"),
        (lambda n: n - 3, lambda n: n - 5, "end..end_1"),
        (lambda n: n, lambda n: -1, "n..-1 by -1"),  # n + 1 may overflow
        (lambda n: 7, lambda n: n, "7..n by -1"),
        (lambda n: 2**31 - 1, lambda n: 7, "2147483647..7 by -1"),
    ],
)
def test_a_parallel_loop_that_counts_down_counts_up(start, stop, expected: str) -> None:
    k = Building()
    x, n = k.field("x", 8), k.param("n", i32)
    with k.loop("i", start(n), stop(n), step=-1, s=0.0) as i:
        k.store(x, i.i, 1.0)
        i.then(s=i.s + 0.1)
    kernel = k.kernel(i.out("s"))
    after = parallel(kernel)
    check(after)
    assert f"parallel for i: i32 in {expected} carrying" in show(after)
    if start(n) == 7:
        for each in (kernel, after):
            buffers = {("x", ()): np.zeros(8)}
            assert run(each, buffers, (3,))[0] == pytest.approx(0.8 if stop(n) == -1 else 0.4)
    assert "by -1" in show(parallel(replace(kernel, exact=True)))


def test_a_serial_loop_keeps_its_direction() -> None:
    k = Building()
    x = k.field("x", 8)
    with k.loop("i", 6, -1, step=-1) as i:
        k.store(x, i.i, k.load(x, i.i + 1))
    kernel = k.kernel()
    assert parallel(kernel) == kernel
