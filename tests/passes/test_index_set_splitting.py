"""Loops over grids whose neighbours wrap around, or are clamped, are cut; the numbers stay."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from dsim.analysis.bounds import bounds
from dsim.ir.nodes import For, If, KernelIR, Let, Memory
from dsim.ir.show import show
from dsim.ir.term import Term
from dsim.ir.types import f64, i32, u8
from dsim.ir.walk import statements
from dsim.passes.index_set_splitting import split_index_sets
from dsim.passes.parallelization import parallel
from dsim.passes.simplify import finish, simplify
from tests.building import Building
from tests.passes import agreement

pytestmark = pytest.mark.usefixtures("quick_code")


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


def bordered(kind: str, n: int = 20) -> KernelIR:
    """The adjoint of a stencil whose neighbours outside of the grid are left out."""
    k = Building("bordered")
    x, y, z = k.field("x", n), k.field("y", n), k.field("z", n)
    with k.loop("i", 0, n) as loop:
        i = loop.i
        inner, skip = (i > 0).op("band", i < n - 1), i.op("eq", 0).op("bor", i.op("eq", n - 1))

        def scatter() -> None:
            k.accumulate(y, i - 1, k.load(x, i))
            k.accumulate(y, i + 1, k.load(x, i))

        def border() -> None:
            k.accumulate(y, i, k.load(x, i) * 2.0)

        if kind == "else":
            k.branch(inner, scatter, border)
        elif kind == "skip":
            k.branch(skip, border, scatter)
        elif kind == "sides":
            k.branch(i > 0, lambda: k.accumulate(y, i - 1, k.load(x, i)))
            k.branch(i < n - 1, lambda: k.accumulate(y, i + 1, k.load(x, i)))
            border()
        else:  # no neighbours
            k.branch(inner, border, lambda: k.store(z, i, 1.0))
    return k.kernel()


def branches(kernel: KernelIR) -> list[int]:
    """The number of branches in each loop, once constants are folded."""
    return [
        sum(isinstance(t, If) for t in statements(s.body))
        for s in statements(simplify(kernel).body)
        if isinstance(s, For)
    ]


@pytest.mark.parametrize(("kind", "ends"), [("else", 1), ("skip", 1), ("sides", 2)])
def test_branches_at_the_border(kind: str, ends: int) -> None:
    assert branches(agree(bordered(kind))) == [ends, 0]
    assert all(s == "proved" for s in bounds(finish(parallel(simplify(bordered(kind))))).sites.values())


def test_branches_at_the_border_of_a_loop_without_neighbours_are_left() -> None:
    kernel = parallel(simplify(bordered("alone")))
    assert split_index_sets(kernel) is kernel


@pytest.mark.parametrize("guard", ["lt", "ne"])
def test_accesses_that_a_guard_does_not_protect_are_left(guard: str) -> None:
    """The first fault is the same as before: of an access that fails in some iterations."""
    k = Building()
    x, y = k.field("x", 20), k.field("y", 20)
    with k.loop("i", 0, 20) as loop:
        k.branch(
            loop.i.op(guard, 19),
            lambda: k.accumulate(y, loop.i - 1, k.load(x, loop.i)),
            lambda: k.accumulate(y, loop.i, 1.0),
        )
    kernel = parallel(simplify(k.kernel()))
    assert split_index_sets(kernel) is kernel


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


class RandomBorders(Random):
    """The same with branches on the indices, which keep all accesses inside of the grid."""

    def body(self, indices: tuple[Term, ...]) -> None:
        k, (x, y, z) = self.k, self.fields
        for _ in range(self.random.randrange(1, 4)):
            shifts = [self.random.choice((0, 1, -1, 2, -3)) for _ in indices]
            place = tuple(i + shift for i, shift in zip(indices, shifts, strict=True))
            value = k.load(x, *indices)
            target, other = self.random.sample((y, z), 2)
            k.branch(
                self.inside(indices, shifts),
                lambda place=place, target=target, value=value: k.accumulate(target, *place, value),
                self.random.choice((lambda: None, lambda other=other: k.accumulate(other, *indices, 1.0))),
            )

    def inside(self, indices: tuple[Term, ...], shifts: list[int]) -> Term:
        parts = []
        for i, shift, n in zip(indices, shifts, self.shape, strict=True):
            low, high = max(0, -shift), n - 1 - max(0, shift)
            parts += self.random.choice(
                (
                    [i.op("ge", low), i.op("le", high)],
                    [(i + shift).op("ge", 0), i + shift < n],
                    [(i < low).op("bor", i > high).op("bnot")],
                )
            )
        found = parts[0]
        for part in parts[1:]:
            found = found.op("band", part)
        return found


@pytest.mark.parametrize("seed", range(60))
def test_random_borders(seed: int) -> None:
    agree(RandomBorders(seed).k.kernel())


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(40))
def test_random_stencils(seed: int) -> None:
    agree(Random(seed).k.kernel())
