"""Inner loops that begin at another trip in each thread: which ones do, and the numbers."""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import replace
from functools import reduce

import numpy as np
import pytest

from dsim.backends.cuda.kernels import emit_kernel
from dsim.ir.nodes import For, KernelIR
from dsim.ir.types import i32
from dsim.passes.parallelization import parallel
from tests.backends.llvm.grid.launching import GRIDS, REAL, Buffers, Grid, launched, same
from tests.backends.llvm.grid.test_planted import is_wrong, replaced
from tests.building import Building, marked_parallel

pytestmark = pytest.mark.usefixtures("quick_code")

RANDOM = np.random.default_rng(22)
each_grid = pytest.mark.parametrize("grid", [*GRIDS, Grid(5, 7), REAL], ids=str)
NOTHING: Callable[..., None] = lambda *_: None  # noqa: E731


def pairs(
    stop: int | None = None, step: int = 1, also: Callable[..., None] = NOTHING
) -> tuple[KernelIR, Buffers]:
    """All pairs: what is added to the first of a pair is a sum, what is added to the second is shared.

    The second goes from 0 to `stop`; without one, from and to what two parameters say.
    """
    k = Building()
    x, g, h = k.field("x", 13), k.field("g", 13), k.field("h", 13)
    first, last = (0, stop) if stop is not None else (k.param("first", i32), k.param("last", i32))
    with k.loop("i", 0, 13) as loop:
        a = k.load(x, loop.i)
        with k.loop("j", first, last, step=step, s=0.0) as inner:
            product = a * k.load(x, inner.i)
            k.accumulate(g, inner.i, product)
            also(k, inner, x)
            inner.then(s=inner.s + product)
        k.accumulate(h, loop.i, inner.out("s"))
    data = {"x": np.arange(1.0, 14.0), "g": np.zeros(13), "h": np.zeros(13)}
    return parallel(k.kernel()), data


def is_rotated(kernel: KernelIR, **options) -> bool:
    """Whether a loop begins at the number of its thread."""
    return "urem i64 %first" in emit_kernel(kernel, **options).text


def with_inner(kernel: KernelIR, change: Callable[[For], For]) -> KernelIR:
    """`kernel`, of one loop, with the loops in that changed."""
    (outer,) = kernel.body.statements
    assert isinstance(outer, For)
    inside = tuple(change(s) if isinstance(s, For) else s for s in outer.body.statements)
    outer = replace(outer, body=replace(outer.body, statements=inside))
    return replace(kernel, body=replace(kernel.body, statements=(outer,)))


def called_parallel(kernel: KernelIR) -> KernelIR:
    """Whatever the analysis says of the loops."""
    return with_inner(marked_parallel(kernel), lambda inner: replace(inner, parallel=True))


@each_grid
@pytest.mark.parametrize(("first", "last"), [(0, 13), (3, 12), (5, 6), (7, 7), (9, 2)])
def test_every_trip_runs_once(grid: Grid, first: int, last: int) -> None:
    kernel, data = pairs()
    assert is_rotated(kernel)
    found = same(kernel, data, first, last, grid=grid)
    inside = np.zeros(13)
    inside[first:last] = data["x"][first:last]
    assert found.arrays["g"].tolist() == (inside * data["x"].sum()).tolist()
    assert found.arrays["h"].tolist() == (inside.sum() * data["x"]).tolist()


def test_the_first_trips_of_neighbours_are_neighbours() -> None:
    kernel, data = pairs()
    once = replaced(r"icmp slt i64 (%\w+), (%\w+)(?=\nbr i1 %\w+, label %body)", r"icmp eq i64 \1, 0")
    found = launched(kernel, data, 0, 13, grid=Grid(2, 4), change=once).arrays["g"]
    # of 13 iterations the 8 threads run these first trips: iteration i and i + 8 begin at i
    x = data["x"]
    wanted = [x[i] * (x[i] + (x[i + 8] if i + 8 < 13 else 0)) if i < 8 else 0.0 for i in range(13)]
    assert found.tolist() == wanted


def test_trips_beyond_the_end_are_found() -> None:
    kernel, data = pairs(stop=6)
    beyond = replaced(r"icmp sge i64 (%\w+), 6", r"icmp eq i64 \1, -1")
    assert is_wrong(kernel, data, beyond, Grid(2, 4))


@pytest.mark.parametrize(
    "kernel",
    [
        pairs(step=2)[0],
        pairs(also=lambda k, inner, _: k.say("at ", inner.i))[0],
        with_inner(pairs()[0], lambda inner: replace(inner, parallel=False)),
        with_inner(pairs()[0], lambda inner: replace(inner, goes_on=inner.carried[0])),
        replace(pairs()[0], exact=True),
    ],
    ids=["steps", "prints", "in series", "goes on", "exact sums"],
)
def test_not_rotated(kernel: KernelIR) -> None:
    assert not is_rotated(kernel)


def test_sums_of_deterministic_launches_are_not_rotated() -> None:
    k = Building()
    x, h, g = k.field("x", 13), k.field("h", 13), k.field("g", 13, type=i32)
    with k.loop("i", 0, 13) as loop:
        with k.loop("j", 0, 13, s=0.0) as inner:
            k.accumulate(g, inner.i, k.term(k.value(1, i32)))
            inner.then(s=inner.s + k.load(x, inner.i))
        k.store(h, loop.i, inner.out("s"))
    kernel = parallel(k.kernel())
    assert is_rotated(kernel)
    assert not is_rotated(kernel, deterministic=True)


@each_grid
def test_values_before_additions_keep_the_order_of_a_row(grid: Grid) -> None:
    """Of ``n = c[i]; c[i] += 1; h[i] += n * x[j]; g[j] += 1`` each row owns its counter."""
    k = Building()
    x, h, c, g = k.field("x", 13), k.field("h", 13), k.field("c", 13), k.field("g", 13)
    with k.loop("i", 0, 13) as loop, k.loop("j", 0, 13) as inner:
        before = k.swap_in(c, loop.i, 1.0)
        k.accumulate(h, loop.i, before * k.load(x, inner.i))
        k.accumulate(g, inner.i, 1.0)
    kernel = called_parallel(k.kernel())
    zeros = {name: np.zeros(13) for name in "hcg"}
    found = same(kernel, {"x": np.arange(1.0, 14.0), **zeros}, grid=grid)
    assert found.arrays["h"].tolist() == [sum(n * (n + 1.0) for n in range(13))] * 13


@each_grid
def test_exact_sums_in_memory_keep_the_order_of_a_row(grid: Grid) -> None:
    k = Building()
    x, h, g = k.field("x", 13), k.field("h", 13), k.field("g", 13)
    with k.loop("i", 0, 13) as loop:
        b = k.buffer("b", 1)
        with k.loop("j", 0, 13) as inner:
            k.accumulate(b, 0, k.load(x, inner.i))
            k.accumulate(g, inner.i, 1.0)
        k.store(h, loop.i, k.load(b, 0))
    kernel = replace(parallel(k.kernel()), exact=True)
    x_data = np.logspace(0, -17, 13)  # of which another order has another sum
    found = launched(kernel, {"x": x_data, "h": np.zeros(13), "g": np.zeros(13)}, grid=grid).arrays["h"]
    assert found.tolist() == [in_order(x_data)] * 13
    assert len({in_order(np.roll(x_data, i)) for i in range(13)}) > 1


def in_order(numbers: np.ndarray) -> float:
    """Their sum, rounded after each: since Python 3.12 `sum` makes up for what was lost."""
    return reduce(operator.add, numbers.tolist())


@each_grid
def test_a_recurrence_that_a_person_calls_parallel_keeps_its_order(grid: Grid) -> None:
    k = Building()
    x, h, g = k.field("x", 13), k.field("h", 13), k.field("g", 13)
    with k.loop("i", 0, 13) as loop:
        with k.loop("j", 0, 13, s=0.0) as inner:
            s = inner.s * 0.5 + k.load(x, inner.i)
            k.accumulate(g, inner.i, s)
            inner.then(s=s)
        k.store(h, loop.i, inner.out("s"))
    kernel = called_parallel(k.kernel())
    data = {"x": RANDOM.random(13), "h": np.zeros(13), "g": np.zeros(13)}
    same(kernel, data, grid=grid, rtol=1e-14)


def test_nothing_that_threads_share() -> None:
    k = Building()
    x, y = k.field("x", 13), k.field("y", 13)
    with k.loop("i", 0, 13) as loop:
        with k.loop("j", 0, 13, s=0.0) as inner:
            inner.then(s=inner.s + k.load(x, inner.i))
        k.store(y, loop.i, inner.out("s"))
    assert not is_rotated(parallel(k.kernel()))
