"""Loops whose body is guarded by their index run over the indices for which it does something."""

from __future__ import annotations

import operator
import random

import pytest

from dsim.ir.build import const
from dsim.ir.nodes import For, If, KernelIR
from dsim.ir.operators import COMPARISONS
from dsim.ir.show import show
from dsim.ir.term import Term
from dsim.ir.types import i32, i64, u8, u32
from dsim.ir.walk import statements
from dsim.passes.guards_to_bounds import guards_to_bounds
from dsim.passes.parallelization import parallel
from dsim.passes.simplify import finish, simplify
from tests.building import Building
from tests.passes import agreement

pytestmark = pytest.mark.usefixtures("quick_code")

HOLDS = {
    "lt": operator.lt, "le": operator.le, "gt": operator.gt, "ge": operator.ge,
    "eq": operator.eq, "ne": operator.ne,
}  # fmt: skip


def ranges(kernel: KernelIR) -> list[range]:
    """The ranges of the loops after the pass, which changes no number."""
    after = agreement.agree(kernel, guards_to_bounds)
    return [range(s.start.value, s.stop.value) for s in statements(after.body) if isinstance(s, For)]


def branches(kernel: KernelIR) -> int:
    return sum(isinstance(s, If) for s in statements(finish(parallel(simplify(kernel))).body))


def guarded(guard, start: int = 0, stop: int = 20, type=i32, before=None, otherwise=None) -> KernelIR:
    """``for i in start..stop: if guard(i): y[i] += x[i]``."""
    k = Building()
    x, y = k.field("x", 40), k.field("y", 40)
    with k.loop("i", const(start, type), const(stop, type)) as loop:
        if before is not None:
            before(k, x, y, loop.i)
        k.branch(
            guard(loop.i),
            lambda: k.accumulate(y, loop.i, k.load(x, loop.i)),
            lambda: otherwise(k, x, y, loop.i) if otherwise else None,
        )
    return k.kernel()


def stencil(n: int = 20) -> KernelIR:
    k = Building("stencil")
    x, y = k.field("x", n, n), k.field("y", n, n)
    with k.loop("i", 0, n) as rows, k.loop("j", 0, n) as columns:
        i, j = rows.i, columns.i
        inside = (i > 0).op("band", i < n - 1).op("band", (j > 0).op("band", j < n - 1))
        k.branch(inside, lambda: k.accumulate(y, i, j, k.load(x, i - 1, j) + k.load(x, i, j + 1)))
    return k.kernel()


def test_a_stencil_inside_of_a_grid(golden) -> None:
    assert ranges(stencil()) == [range(1, 19)] * 2
    golden(show(finish(parallel(simplify(stencil())))))


@pytest.mark.parametrize("number", [-1, 0, 1, 7, 19, 20, 25])
@pytest.mark.parametrize("exchanged", [False, True])
@pytest.mark.parametrize("op", COMPARISONS)
def test_every_comparison_with_a_number(op: str, number: int, exchanged: bool) -> None:
    def guard(i: Term) -> Term:
        return i.constant(number).op(op, i) if exchanged else i.op(op, number)

    kept = [i for i in range(20) if (HOLDS[op](number, i) if exchanged else HOLDS[op](i, number))]
    gap = op == "ne" and 0 < number < 19
    found = ranges(guarded(guard))
    assert found == [range(20) if gap else range(kept[0], kept[-1] + 1) if kept else range(0)]
    assert branches(guarded(guard)) == gap


@pytest.mark.parametrize("op", COMPARISONS)
def test_what_is_done_where_a_comparison_fails(op: str) -> None:
    """As after ``if …: continue``."""
    k = Building()
    x, y = k.field("x", 40), k.field("y", 40)
    with k.loop("i", 0, 20) as loop:
        skip = loop.i.op(op, 0).op("bor", loop.i.op("eq", 19))
        k.branch(skip, lambda: None, lambda: k.accumulate(y, loop.i, k.load(x, loop.i)))
    kept = [i for i in range(19) if not HOLDS[op](i, 0)]
    assert ranges(k.kernel()) == [range(kept[0], kept[-1] + 1) if kept else range(0)]


def test_a_negation() -> None:
    assert ranges(guarded(lambda i: (i < 3).op("bnot"))) == [range(3, 20)]


@pytest.mark.parametrize("type", [i32, i64, u32, u8])
def test_an_index_and_a_number(type) -> None:
    assert ranges(guarded(lambda i: (i + 2).op("le", 20), 1, type=type)) == [range(1, 19)]
    if type.kind == "int":
        assert ranges(guarded(lambda i: i - 1 > 2, 1, type=type)) == [range(4, 20)]


def test_an_index_of_another_type() -> None:
    assert ranges(guarded(lambda i: i.cast(i64) + 1 < 5)) == [range(4)]


def test_sums_that_overflow_are_left() -> None:
    assert ranges(guarded(lambda i: i - 1 > 3, type=u32)) == [range(20)]
    assert ranges(guarded(lambda i: i.cast(u8) * 20 < 5)) == [range(20)]


def test_what_two_branches_have_in_common() -> None:
    k = Building()
    x, y = k.field("x", 40), k.field("y", 40)
    with k.loop("i", 0, 20) as loop:
        some, other = loop.i > 2, loop.i < 15
        k.branch(some, lambda: k.accumulate(y, loop.i, 1.0))
        k.branch(some.op("band", other), lambda: k.accumulate(x, loop.i, 1.0))
    assert ranges(k.kernel()) == [range(3, 20)]


def test_branches_on_both_sides() -> None:
    below, above = (lambda k, x, y, i: k.store(x, i, 2.0)), (lambda i: i > 3)
    assert ranges(guarded(above, otherwise=below)) == [range(20)]


@pytest.mark.parametrize("inner", [0, 7])
def test_a_guard_inside_of_another_loop(inner: int) -> None:
    k = Building()
    y = k.field("y", 40)
    with k.loop("i", 0, 20) as rows, k.loop("j", 0, inner) as columns:
        k.branch((rows.i > 4).op("band", columns.i < 5), lambda: k.accumulate(y, rows.i + columns.i, 1.0))
    assert [r for r in ranges(k.kernel()) if r] == [range(5, 20), range(5)][: 2 * bool(inner)]


def effect(k, x, y, i):
    k.store(x, i, 3.0)


def load_out_of_bounds(k, x, y, i):
    k.load(x, i + 30)


def told(k, x, y, i):
    k.insist(i < 100)


@pytest.mark.parametrize("before", [effect, told], ids=lambda f: f.__name__)
def test_a_loop_with_an_effect_in_each_iteration_is_left(before) -> None:
    kernel = parallel(simplify(guarded(lambda i: i < 5, before=before)))
    after = guards_to_bounds(kernel)
    assert [s.stop.value for s in statements(after.body) if isinstance(s, For)] == [20]


@pytest.mark.parametrize(("shift", "stop"), [(30, 20), (3, 5)])
def test_a_load_that_may_fail_is_an_effect(shift: int, stop: int) -> None:
    k = Building()
    x, y = k.field("x", 40), k.field("y", 40)
    with k.loop("i", 0, 20) as loop:
        value = k.load(x, loop.i + shift)
        k.branch(loop.i < 5, lambda: k.accumulate(y, loop.i, value))
    after = guards_to_bounds(parallel(simplify(k.kernel())))
    assert [s.stop.value for s in statements(after.body) if isinstance(s, For)] == [stop]


def test_loops_that_carry_values_or_go_down_are_left() -> None:
    k = Building()
    y = k.field("y", 40)
    with k.loop("i", 0, 20, n=0.0) as loop:
        k.branch(loop.i < 5, lambda: k.accumulate(y, loop.i, loop.n))
        loop.then(n=loop.n + 1.0)
    with k.loop("i", 19, -1, step=-1) as loop:
        k.branch(loop.i < 5, lambda: k.store(y, 0, k.load(y, 1) + loop.i.cast(y.type)))
    after = guards_to_bounds(simplify(k.kernel()))
    assert [(s.start.value, s.stop.value) for s in statements(after.body) if isinstance(s, For)] == [
        (0, 20),
        (19, -1),
    ]


class Random:
    """Loops of one or two axes, with conditions on their indices inside one another."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.k = Building()
        self.fields = [self.k.field(name, 40) for name in "xyz"]
        for _ in range(self.random.choice((1, 2))):
            self.loop(())

    def loop(self, indices: tuple[Term, ...]) -> None:
        start = self.random.choice((0, 0, 2, 5))
        with self.k.loop("i", start, start + self.random.choice((1, 6, 9))) as loop:
            self.body((*indices, loop.i), 2)

    def comparison(self, indices: tuple[Term, ...]) -> Term:
        i = self.random.choice(indices) + self.random.choice((0, 0, 1, -1, 3))
        number = self.random.randrange(-2, 12)
        return i.op(self.random.choice(COMPARISONS), number)

    def condition(self, indices: tuple[Term, ...]) -> Term:
        found = self.comparison(indices)
        for _ in range(self.random.randrange(3)):
            found = found.op(self.random.choice(("band", "band", "bor")), self.comparison(indices))
        return found.op("bnot") if self.random.random() < 0.2 else found

    def body(self, indices: tuple[Term, ...], depth: int) -> None:
        kind = self.random.random()
        if depth and kind < 0.7:
            self.k.branch(
                self.condition(indices),
                lambda: self.body(indices, depth - 1),
                lambda: self.body(indices, depth - 1) if kind < 0.15 else None,
            )
            if kind < 0.1:
                self.body(indices, depth - 1)
        elif depth and kind < 0.85 and len(indices) < 2:
            self.loop(indices)
        else:
            self.write(indices)

    def write(self, indices: tuple[Term, ...]) -> None:
        at = indices[0] if len(indices) == 1 else indices[0] + indices[1]
        value = self.k.load(self.fields[0], at)
        self.k.accumulate(self.random.choice(self.fields[1:]), at + self.random.randrange(3), value)


@pytest.mark.slow
def test_random_guards() -> None:
    shortened = 0
    for seed in range(200):
        kernel = Random(seed).k.kernel()
        before = parallel(simplify(kernel))
        shortened += agreement.agree(kernel, guards_to_bounds) is not before
    assert shortened > 60
