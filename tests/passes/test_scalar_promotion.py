"""Elements that a loop reads and writes become carried values, where that is equivalent."""

from __future__ import annotations

import pytest

from dsim.ir.check import check
from dsim.ir.nodes import KernelIR, Memory
from dsim.ir.show import show
from dsim.ir.types import i32
from dsim.passes.parallelization import parallel
from dsim.passes.scalar_promotion import promote_scalars
from dsim.passes.simplify import simplify
from tests.building import Building, marked_parallel


def carried(kernel: KernelIR, *memories: Memory) -> str:
    """The kernel after the pass, simplified; the kernel as it was when nothing is carried."""
    after = promote_scalars(kernel, {m.key for m in memories})
    check(after)
    return show(simplify(after)) if after is not kernel else "nothing"


def test_an_element_is_loaded_before_the_loop_and_stored_after_it() -> None:
    k = Building()
    x = k.field("x", 4)
    with k.loop("i", 0, 4) as row, k.loop("t", 0, 3):
        k.store(x, row.i, k.load(x, row.i).op("sin"))
    assert carried(parallel(k.kernel()), x) == (
        "kernel k():\n"
        "  memory x: f64[4]\n"
        "  parallel for i: i32 in 0..4:\n"
        "    x_1: f64 = x[i]\n"
        "    for t: i32 in 0..3 carrying (x_2: f64 = x_1) -> (x_3: f64):\n"
        "      t_1: f64 = sin x_2\n"
        "      yield t_1\n"
        "    x[i] = x_3"
    )


def test_an_element_is_carried_through_loops_and_branches() -> None:
    k = Building()
    x, n = k.field("x"), k.field("n", 4, type=i32)
    with k.loop("i", 0, 4) as row, k.loop("t", 0, 3):
        old = k.swap_in(x, 2.0, op="mul")

        def then(row=row, old=old) -> None:
            k.accumulate(x, old)
            k.store(n, row.i, 1)

        k.branch(k.load(x) < 1.0, then)
    text = carried(k.kernel(), x)
    assert text.count("= x[]") == text.count("x[] =") == 1
    assert text.index("= x[]") < text.index("for i") < text.index("x[] =")


def test_both_branches_may_store_the_same() -> None:
    k = Building()
    x, n = k.field("x"), k.field("n", 4, type=i32)
    with k.loop("i", 0, 4) as row:
        old = k.load(x)

        def then(row=row) -> None:
            k.store(n, row.i, 1)
            k.store(x, 0.5)

        k.branch(old < 1.0, then, lambda: k.store(x, 0.5))
    text = carried(k.kernel(), x)
    assert "    yield 0.5f64" in text


def test_a_condition_sees_what_is_carried() -> None:
    k = Building()
    x = k.field("x", 4)
    with k.loop("i", 0, 4) as row, k.repeat(lambda _: k.load(x, row.i) < 9.0):
        k.accumulate(x, row.i, k.load(x, row.i))
    text = carried(k.kernel(), x)
    assert "while carrying (x_2: f64 = x_1)" in text
    assert "lt x_2, 9.0f64" in text


def test_what_is_only_written_or_only_added_to_stays() -> None:
    k = Building()
    x, y, z = k.field("x", 4), k.field("y", 4), k.field("z", 4)
    with k.loop("i", 0, 4) as row, k.loop("t", 0, 3) as t:
        k.store(x, row.i, 1.0)
        k.accumulate(y, row.i, 1.0)
        k.store(z, t.i, k.load(z, row.i))
    assert carried(k.kernel(), x, y, z) == "nothing"


@pytest.mark.parametrize("other", ["load", "store", "inner"])
def test_what_another_index_may_touch_stays(other: str) -> None:
    k = Building()
    x, m = k.field("x", 8), k.param("m", i32)
    with k.loop("i", 0, 4) as row, k.loop("t", 0, 3) as t:
        k.store(x, row.i, k.load(x, row.i).op("sin"))
        if other == "load":
            k.load(x, m)
        elif other == "store":
            k.store(x, t.i, 0.0)
        else:
            with k.loop("u", 0, 3) as u:
                k.store(x, u.i, 0.0)
    assert carried(k.kernel(), x) == "nothing"


def test_neighbours_at_fixed_distances_are_carried_together() -> None:
    k = Building()
    x = k.field("x", 8)
    with k.loop("i", 0, 4) as row, k.loop("t", 0, 3):
        k.store(x, row.i, k.load(x, row.i + 1) * k.load(x, row.i))
        k.store(x, row.i + 1, k.load(x, row.i).op("sin"))
    text = carried(k.kernel(), x)
    assert text.count("= x[") == 2
    assert text.count("x[i] =") == 1


@pytest.mark.parametrize("trips", [3, None])
def test_an_element_that_may_not_exist_is_carried_if_it_is_touched_for_certain(
    trips: int | None,
) -> None:
    k = Building()
    x, m, n = k.field("x", 8), k.param("m", i32), k.param("n", i32)
    with k.loop("t", 0, n if trips is None else trips):
        k.store(x, m, k.load(x, m).op("sin"))
    assert (carried(k.kernel(), x) == "nothing") == (trips is None)


def test_parallel_loops_carry_nothing() -> None:
    k = Building()
    x = k.field("x")
    with k.loop("i", 0, 4):
        k.accumulate(x, 2.0, op="mul")
    kernel = k.kernel()
    assert carried(marked_parallel(kernel), x) == "nothing"
    assert "carrying" in carried(kernel, x)


def test_what_iterations_may_accumulate_together_stays_inside_of_them() -> None:
    def make() -> KernelIR:
        k = Building()
        x, y = k.field("x"), k.field("y", 4, 3)
        with k.loop("i", 0, 4) as row, k.loop("t", 0, 3) as t:
            k.store(y, row.i, t.i, k.swap_in(x, 2.0, op="mul"))
        return k.kernel()

    x = Memory("x", make().memories[0].type, ())
    assert carried(marked_parallel(make()), x) == "nothing"
    assert "carrying" in carried(make(), x)
