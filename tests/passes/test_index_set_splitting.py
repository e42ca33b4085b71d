"""Loops over grids whose neighbours wrap around, or are clamped, are cut; the numbers stay."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from dsim.ir.nodes import For, KernelIR, Let, Memory
from dsim.ir.show import show
from dsim.ir.term import Term
from dsim.ir.types import f64, i32, u8
from dsim.ir.walk import statements
from dsim.passes.index_set_splitting import split_index_sets
from dsim.passes.parallelization import parallel
from dsim.passes.simplify import finish, simplify
from tests.building import Building
from tests.passes import agreement


def agree(kernel: KernelIR, *args: object) -> KernelIR:
    """The kernel cut, after a comparison of what it computes."""
    return agreement.agree(kernel, split_index_sets, *args)


def remainders(kernel: KernelIR) -> list[int]:
    """For each loop with no loop inside, the number of its remainders and extrema."""
    inner = [s for s in statements(kernel.body) if isinstance(s, For)]
    inner = [s for s in inner if not any(isinstance(t, For) for t in statements(s.body))]
    return [
        sum(isinstance(t, Let) and t.op in ("mod", "min", "max") for t in statements(s.body)) for s in inner
    ]


def torus(n: int = 20, shift: int = 1) -> KernelIR:
    k = Building("torus")
    x, y = k.field("x", n), k.field("y", n)
    with k.loop("i", 0, n) as i:
        k.store(y, i.i, k.load(x, (i.i + shift).op("mod", n)) + k.load(x, (i.i - shift).op("mod", n)))
    return k.kernel()


def test_a_torus(golden) -> None:
    golden(show(finish(parallel(simplify(torus())))))


def test_the_adjoint_of_a_stencil_on_a_torus(golden) -> None:
    k = Building("torus_adjoint")
    y, x = (k.field(name, 20, 24, derivative=("bar",)) for name in "yx")
    with k.loop("i", 0, 20) as i, k.loop("j", 0, 24) as j:
        seed = k.load(y, i.i, j.i)
        k.store(y, i.i, j.i, 0.0)
        k.accumulate(x, i.i, (j.i + 1).op("mod", 24), seed)
        k.accumulate(x, (i.i - 1).op("mod", 20), j.i, seed)
    kernel = k.kernel()
    agree(kernel)
    golden(show(finish(parallel(simplify(kernel)))))


@pytest.mark.parametrize("shift", [1, 2, 4])
def test_wide_stencils(shift: int) -> None:
    assert remainders(agree(torus(30, shift))) == [2, 0]


def test_neighbours_too_far_away() -> None:
    kernel = parallel(simplify(torus(40, 5)))
    assert split_index_sets(kernel) is kernel


def test_short_loops_are_left() -> None:
    kernel = parallel(simplify(torus(17)))
    assert split_index_sets(kernel) is kernel


def test_clamps() -> None:
    k = Building()
    x, y = k.field("x", 20), k.field("y", 20)
    with k.loop("i", 0, 20) as i:
        k.store(y, i.i, k.load(x, (i.i + 2).op("min", 19)) - k.load(x, (i.i - 1).op("max", 0)))
    assert remainders(agree(k.kernel())) == [2, 0]


def test_an_offset_that_keeps_the_dividend_positive() -> None:
    k = Building()
    x, y = k.field("x", 20), k.field("y", 20)
    with k.loop("i", 0, 20) as i:
        k.store(y, i.i, k.load(x, (i.i + 19).op("mod", 20)) + k.load(x, (i.i + 41).op("mod", 20)))
    assert remainders(agree(k.kernel())) == [2, 0]


def test_indices_of_few_bits_that_overflow_are_left() -> None:
    k = Building()
    x, y = k.field("x", 32), k.field("y", 256)
    with k.loop("i", 0, 256) as i:
        small = i.i.cast(u8) + 1
        k.store(y, i.i, k.load(x, small.op("mod", 32).cast(i32)))
    kernel = parallel(simplify(k.kernel()))
    assert split_index_sets(kernel) is kernel


def serial(k: Building, x: Memory, y: Memory, i: Term) -> None:
    k.store(y, 0, k.load(x, i))


def counted(k: Building, x: Memory, y: Memory, i: Term) -> None:
    n = k.field("n", type=i32)
    k.store(y, k.swap_in(n, 1).op("mod", 40).cast(i32), k.load(x, i))


def outside_in_some_iterations(k: Building, x: Memory, y: Memory, i: Term) -> None:
    k.store(y, i, k.load(x, i + 25))


def told(k: Building, x: Memory, y: Memory, i: Term) -> None:
    k.insist(k.load(x, i) < 100.0)


@pytest.mark.parametrize(
    "what", [serial, counted, outside_in_some_iterations, told], ids=lambda f: f.__name__
)
def test_loops_whose_order_may_be_seen_are_left(what) -> None:
    k = Building()
    x, y = k.field("x", 40), k.field("y", 40)
    with k.loop("i", 0, 40) as i:
        k.accumulate(x if what is told else k.field("z", 40), (i.i + 1).op("mod", 40), 1.0)
        what(k, x, y, i.i)
    kernel = parallel(simplify(k.kernel()))
    assert split_index_sets(kernel) is kernel


def test_sums_of_exact_kernels_keep_their_order() -> None:
    k = Building()
    x = k.field("x", 40)
    with k.loop("i", 0, 40) as i:
        k.accumulate(x, (i.i + 1).op("mod", 40), 1.0)
    kernel = parallel(simplify(replace(k.kernel(), exact=True)))
    assert split_index_sets(kernel) is kernel


def test_an_index_that_is_a_parameter_everywhere() -> None:
    k = Building()
    p, t = k.field("p", 3, 20), k.param("t", i32)
    with k.loop("i", 0, 20) as i:
        k.store(p, t, i.i, k.load(p, t - 1, (i.i + 1).op("mod", 20)))
    assert remainders(agree(k.kernel(), 2)) == [1, 0]


class Random:
    """A kernel with stencils over one or two axes, with conditions and several targets."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.k = Building("stencil", f64)
        self.shape = [self.random.randrange(14, 40) for _ in range(self.random.choice((1, 2)))]
        self.fields = [self.k.field(name, *self.shape) for name in ("x", "y", "z")]
        self.loops(())

    def loops(self, indices: tuple[Term, ...]) -> None:
        if len(indices) == len(self.shape):
            self.body(indices)
            return
        n = self.shape[len(indices)]
        low = self.random.choice((0, 0, 1, 3))
        with self.k.loop("i", low, n - self.random.choice((0, 0, 1, 2))) as loop:
            self.loops((*indices, loop.i))

    def place(self, indices: tuple[Term, ...]) -> tuple[Term, ...]:
        return tuple(map(self.shifted, indices, self.shape))

    def shifted(self, i: Term, n: int) -> Term:
        i = i + self.random.choice((0, 0, 0, 1, -1, 2, -3, n, n - 1, -n + 1, 2 * n + 1))
        kind = self.random.randrange(4)
        if kind == 0:
            return i.op("min", n - 1).op("max", 0)
        if kind == 1:
            return i.op("max", 1).op("min", n - 2)
        return (i.op("mod", n - 2) + 1) if kind == 2 else i.op("mod", n)

    def body(self, indices: tuple[Term, ...]) -> None:
        k = self.k
        x, y, z = self.fields
        value = k.load(x, *self.place(indices)) - k.load(x, *self.place(indices))
        k.accumulate(y, *self.place(indices), value)
        if self.random.random() < 0.5:
            k.branch(
                k.load(x, *indices) > 1.0,
                lambda: k.accumulate(y, *self.place(indices), value * 2.0),
                lambda: k.accumulate(z, *self.place(indices), value),
            )
        k.accumulate(z, *self.place(indices), value)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(40))
def test_random_stencils(seed: int) -> None:
    agree(Random(seed).k.kernel())
