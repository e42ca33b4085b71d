"""Kernels whose indices depend on comparisons of floats, and kernels whose indices do not."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import dsim as ti
from dsim.analysis.float_controlled_indices import has_float_controlled_indices
from dsim.ir.types import f64, i32
from tests.building import Building


def a_carried_counter(k: Building) -> None:
    x, y = k.field("x", 8), k.field("y", 8)
    with k.loop("i", 0, 8, n=0) as row:
        (n,) = k.branch(k.load(x, row.i) > 0.0, lambda: (row.n + 1,), lambda: (row.n,))
        k.store(y, row.n, k.load(x, row.i))
        row.then(n=n)


def a_counter_in_memory(k: Building) -> None:
    x, y, n = k.field("x", 8), k.field("y", 8), k.field("n", type=i32)
    with k.loop("i", 0, 8) as row:

        def then() -> None:
            k.accumulate(y, k.swap_in(n, 1), k.load(x, row.i))

        k.branch(k.load(x, row.i) > 0.0, then)


def a_count_of_each_cell(k: Building) -> None:
    x, y, n = k.field("x", 8), k.field("y", 8), k.field("n", 8, type=i32)
    with k.loop("i", 0, 8) as row:
        k.accumulate(n, k.load(x, row.i).cast(i32), 1)
    with k.loop("j", 0, 8) as row:
        k.accumulate(y, k.load(n, row.i), 1.0)


def the_trips_of_a_search_added_up(k: Building) -> None:
    x, y = k.field("x", 8), k.field("y", 64)
    with k.loop("i", 0, 8, n=0) as row:
        with k.repeat(lambda w: w.v < 1.0, v=k.load(x, row.i), t=row.n) as w:
            w.then(v=w.v * 2.0, t=w.t + 1)
        k.accumulate(y, row.n, 1.0)
        row.then(n=w.out("t"))


def a_counter_that_floats_do_not_decide(k: Building) -> None:
    x, y, n = k.field("x", 8), k.field("y", 8), k.field("n", type=i32)
    with k.loop("i", 0, 8) as row:
        place = k.swap_in(n, 1)
        v = k.load(x, row.i)
        k.accumulate(y, place, (v > 0.0).op("select", v, v * 0.5))


def a_place_for_each_trip(k: Building) -> None:
    x, y = k.field("x", 8), k.field("y", 8)
    with k.loop("i", 0, 8) as row:
        k.accumulate(y, (k.load(x, row.i) * 4.0).cast(i32), 1.0)


def a_search_that_ends_at_a_place(k: Building) -> None:
    x, y = k.field("x", 8), k.field("y", 8)
    with k.loop("i", 0, 8) as row:
        with k.repeat(lambda w: w.v < 1.0, v=k.load(x, row.i), t=0) as w:
            w.then(v=w.v * 2.0, t=w.t + 1)
        k.accumulate(y, w.out("t"), 1.0)


def a_count_that_is_no_place(k: Building) -> None:
    x, n = k.field("x", 8), k.field("n", type=i32)
    with k.loop("i", 0, 8) as row:
        k.branch(k.load(x, row.i) > 0.0, lambda: k.accumulate(n, 1))


COUNTED = (a_carried_counter, a_counter_in_memory, a_count_of_each_cell, the_trips_of_a_search_added_up)
OTHERS = (
    a_counter_that_floats_do_not_decide,
    a_place_for_each_trip,
    a_search_that_ends_at_a_place,
    a_count_that_is_no_place,
)


@pytest.mark.parametrize("make", [*COUNTED, *OTHERS])
def test_places_that_are_counted_out(make: Callable[[Building], None]) -> None:
    k = Building(float_type=f64)
    make(k)
    assert has_float_controlled_indices(k.kernel()) == (make in COUNTED)


def test_a_kernel_that_counts_out_places_computes_exactly():
    ti.init(default_fp=ti.f32)
    x, y = (ti.field(ti.f32, shape=8, needs_grad=True) for _ in range(2))
    count = ti.field(int, shape=())

    @ti.kernel
    def pack():
        for i in x:
            if ti.sin(x[i]) * x[i] > 0.1:
                y[ti.atomic_add(count[None], 1)] += x[i]

    x.from_numpy(np.linspace(0, 1, 8, dtype=np.float32))
    pack()
    assert pack.primal.kernel.exact
    assert pack.adjoint.kernel.exact
