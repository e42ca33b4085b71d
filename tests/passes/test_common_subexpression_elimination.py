"""Values computed or loaded before are reused, unless they may have changed."""

from __future__ import annotations

import pytest

from dsim.ir.check import check
from dsim.ir.nodes import For, If, KernelIR, Let, Load, Memory
from dsim.ir.types import i32
from dsim.ir.walk import statements
from dsim.passes.common_subexpression_elimination import eliminate_common_subexpressions
from tests.building import Building


def done(kernel: KernelIR) -> tuple[int, int]:
    """How many operations and how many loads are left."""
    after = eliminate_common_subexpressions(kernel)
    check(after)
    every = list(statements(after.body))
    return sum(isinstance(s, Let) for s in every), sum(isinstance(s, Load) for s in every)


def two_loads(between) -> int:
    """How many of two loads of ``x[i]`` with ``between(k, x, v, i)`` between them are left."""
    k = Building()
    x, v, y = k.field("x", 8), k.field("v", 8, 2, entries=1), k.field("y", 8)
    with k.loop("i", 1, 7) as loop:
        a = k.load(x, loop.i)
        between(k, x, v, loop.i)
        k.store(y, loop.i, a + k.load(x, loop.i))
    return done(k.kernel())[1]


def test_equal_expressions_are_one() -> None:
    k = Building()
    a, b = k.param("a"), k.param("b")
    assert done(k.kernel(a + b, b + a, a * b, b * a, a - b, b - a, a.op("max", b), b.op("max", a))) == (6, 0)


def test_constants_of_different_types_are_different() -> None:
    k = Building()
    n = k.param("n", i32)
    kernel = k.kernel(n.cast(k.float_type), n.cast(i32), n + 1, n + 1, n.cast(k.float_type) + 1.0)
    assert done(kernel) == (3, 0)


def test_an_inner_block_uses_what_an_outer_one_computed_and_not_the_other_way_round() -> None:
    k = Building()
    x, a, b = k.field("x", 8), k.param("a"), k.param("b")
    k.store(x, 0, a * b)
    with k.loop("i", 0, 8) as loop:
        k.store(x, loop.i, a * b + 1.0)
    k.store(x, 0, a * b + 1.0)
    assert done(k.kernel()) == (3, 0)


@pytest.mark.parametrize(
    ("between", "left"),
    [
        (lambda k, x, v, i: None, 1),
        (lambda k, x, v, i: k.store(v, i, 0, 1.0), 1),  # another memory
        (lambda k, x, v, i: k.store(x, i + 1, 1.0), 1),  # certainly another element
        (lambda k, x, v, i: k.store(x, i, 1.0), 1),  # known: the stored value
        (lambda k, x, v, i: k.store(x, 3, 1.0), 2),
        (lambda k, x, v, i: k.accumulate(x, i.op("mod", 4), 1.0), 2),
        (lambda k, x, v, i: k.accumulate(x, i, 1.0), 2),
        (lambda k, x, v, i: k.branch(i < 3, lambda: k.accumulate(x, i, 1.0)), 2),
        (lambda k, x, v, i: k.branch(i < 3, lambda: None, lambda: k.accumulate(x, i - 1, 1.0)), 1),
    ],
)
def test_a_load_is_reused_unless_its_element_may_have_changed(between, left: int) -> None:
    assert two_loads(between) == left


def test_entries_of_a_vector_do_not_disturb_each_other() -> None:
    k = Building()
    v = k.field("v", 8, 2, entries=1)
    with k.loop("i", 0, 8) as loop:
        a, b = k.load(v, loop.i, 0), k.load(v, loop.i, 1)
        k.store(v, loop.i, 0, b)
        k.store(v, loop.i, 1, a + k.load(v, loop.i, 1) + k.load(v, loop.i, 0))
    assert done(k.kernel())[1] == 2


def test_a_loop_may_have_changed_what_its_later_trips_read() -> None:
    def program(written: int) -> KernelIR:
        k = Building()
        x, y = k.field("x", 8, 2), k.field("y", 8)
        with k.loop("i", 0, 8) as outer:
            k.store(y, outer.i, k.load(x, 0, 0))
            with k.loop("j", 0, 8) as inner:
                k.accumulate(y, inner.i, k.load(x, 0, 0))
                k.store(x, inner.i, written, 1.0)
            k.accumulate(y, outer.i, k.load(x, 0, 0))
        return k.kernel()

    assert done(program(written=0))[1] == 3
    assert done(program(written=1))[1] == 1


def test_a_loop_under_a_condition_may_have_changed_it_too() -> None:
    k = Building()
    x, y, p = k.field("x", 8), k.field("y", 8), k.param("p")
    k.store(y, 0, k.load(x, 2))

    def arm() -> None:
        with k.repeat(lambda w: w.a < 8.0, a=p) as w:
            k.accumulate(x, 2, w.a)
            w.then(a=w.a + 1.0)

    k.branch(p > 0.0, arm)
    k.store(y, 1, k.load(x, 2))
    assert done(k.kernel())[1] == 2


def test_what_one_arm_loads_the_other_does_not_know() -> None:
    k = Building()
    x, p = k.field("x", 8), k.param("p")
    k.branch(p > 0.0, lambda: (k.load(x, 0),), lambda: (k.load(x, 0),))
    k.load(x, 0)
    assert done(k.kernel())[1] == 3


def test_a_stored_value_is_known_only_until_the_loop_around_it_may_change_it() -> None:
    k = Building()
    buffer = k.buffer("buffer", 4)
    y = k.field("y", 4)
    k.store(buffer, 0, 2.0)
    with k.loop("i", 0, 4) as loop:
        k.store(y, loop.i, k.load(buffer, 0))
        k.store(buffer, 0, k.load(y, 0))
        k.store(y, loop.i, k.load(buffer, 0))
    assert done(k.kernel())[1] == 2


def test_results_and_carried_values_that_are_the_same_are_one() -> None:
    k = Building()
    p = k.param("p")
    r, s = k.branch(p > 0.0, lambda: (p * 2.0, p * 2.0), lambda: (p, p))
    with k.loop("i", 0, 4, a=p, b=p, c=1.0) as loop:
        k.say("a = ", loop.a, ", b = ", loop.b)
        loop.then(a=loop.c * r, b=loop.c * s, c=loop.b + 1.0)
    after = eliminate_common_subexpressions(k.kernel(loop.out("a"), loop.out("b"), loop.out("c")))
    check(after)
    (branch,) = (x for x in after.body.statements if isinstance(x, If))
    (again,) = (x for x in after.body.statements if isinstance(x, For))
    assert len(branch.results) == 1
    assert [v.name for v in again.carried] == ["a", "c"]
    assert after.body.yields[0] == after.body.yields[1]


def test_the_element_and_its_companions_are_different_memories() -> None:
    k = Building()
    x = k.field("x", 4)
    bar = Memory("x", x.type, x.shape, derivative=("bar",))
    a = k.load(x, 0)
    k.accumulate(bar, 0, a)
    k.store(bar, 1, k.load(x, 0))
    assert done(k.kernel())[1] == 1
