"""Invariants of an inner loop are computed before it, where that is safe."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from dsim.ir.check import check
from dsim.ir.nodes import For, KernelIR, Let, Load, Memory
from dsim.ir.term import Term
from dsim.ir.types import i32
from dsim.ir.walk import blocks, statements
from dsim.passes.loop_invariant_code_motion import move_loop_invariants
from tests.building import Building, Loop


def depths(kernel: KernelIR) -> dict[str, int]:
    """In how many loops each operation and load stands."""
    after = move_loop_invariants(kernel)
    check(after)
    found: dict[str, int] = {}

    def scan(block, depth: int) -> None:
        for s in block.statements:
            if isinstance(s, Let | Load):
                found[s.var.name] = depth
            for inner in blocks(s):
                scan(inner, depth + isinstance(s, For))

    scan(after.body, 0)
    return found


def test_operations_leave_inner_loops_and_stay_in_top_level_ones() -> None:
    k = Building()
    y, p = k.field("y", 4, 4, 4), k.param("p")
    with k.loop("i", 0, 4) as i, k.loop("j", 0, 4) as j, k.loop("l", 0, 4) as inner:
        fixed = k.let("sin", p.atom, hint="fixed")
        of_i = k.let("mul", i.index, k.value(3), hint="of_i")
        of_j = k.let("mul", k.value(i.i), j.index, hint="of_j")
        both = k.let("add", of_i, of_j, hint="both")
        of_l = k.let("add", both, inner.index, hint="of_l")
        k.store(
            y, i.i, j.i, inner.i, k.term(fixed) * k.term(k.let("cast", of_l, type=k.float_type, hint="f"))
        )
    found = depths(k.kernel())
    assert {n: found[n] for n in ("fixed", "of_i", "of_j", "both", "of_l")} == {
        "fixed": 1,
        "of_i": 1,
        "of_j": 2,
        "both": 2,
        "of_l": 3,
    }


def loaded(element: Callable[[Building, Memory, Term, Term], Term], stop=None, write: bool = False) -> int:
    """In how many loops a load in ``for i in range(4): for j in range(stop)`` ends up."""
    k = Building()
    x, y, n = k.field("x", 4), k.field("y", 4, 4), k.param("n", i32)
    with k.loop("i", 0, 4) as i, k.loop("j", 0, n if stop is None else stop) as j:
        v = element(k, x, i.i, n)
        k.store(y, i.i, j.i, v)
        if write:
            k.accumulate(x, j.i, 1.0)
    after = move_loop_invariants(k.kernel())
    check(after)
    (outer,) = (s for s in after.body.statements if isinstance(s, For))
    return 1 if any(isinstance(s, Load) for s in outer.body.statements) else 2


@pytest.mark.parametrize(
    ("element", "stop", "write", "depth"),
    [
        (lambda k, x, i, n: k.load(x, i), None, False, 1),  # in range by its own loop
        (lambda k, x, i, n: k.load(x, 3), None, False, 1),
        (lambda k, x, i, n: k.load(x, (i * 2).op("mod", 4)), None, False, 1),
        (lambda k, x, i, n: k.load(x, (i - 3).op("max", 0)), None, False, 1),
        (lambda k, x, i, n: k.load(x, i + 1), None, False, 2),  # a fault if the loop makes no trip
        (lambda k, x, i, n: k.load(x, n), None, False, 2),
        (lambda k, x, i, n: k.load(x, n), 4, False, 1),  # it does make one
        (lambda k, x, i, n: k.load(x, i), None, True, 2),  # the loop writes x
        (
            lambda k, x, i, n: k.branch(n > 3, lambda: (k.load(x, 2),), lambda: (n.cast(x.type),))[0],
            4,
            False,
            1,
        ),
        (
            lambda k, x, i, n: k.branch(n > 3, lambda: (k.load(x, n),), lambda: (n.cast(x.type),))[0],
            4,
            False,
            2,
        ),
    ],
)
def test_loads_leave_where_the_element_exists_and_is_not_written(
    element, stop, write: bool, depth: int
) -> None:
    assert loaded(element, stop, write) == depth


def test_of_a_branch_only_index_arithmetic_leaves() -> None:
    k = Building()
    x, p, n = k.field("x", 4), k.param("p"), k.param("n", i32)

    def arm(loop: Loop) -> None:
        at = k.let("add", n.atom, k.value(1), hint="at")
        k.accumulate(x, k.term(at), k.term(k.let("exp", p.atom, hint="costly")))

    with k.loop("i", 0, 4), k.loop("j", 0, 4) as j:
        k.branch(j.i < 2, lambda: arm(j))
    found = depths(k.kernel())
    assert (found["at"], found["costly"]) == (1, 2)


def test_a_loop_with_a_condition_may_make_no_trip() -> None:
    k = Building()
    x, y, n = k.field("x", 4), k.field("y", 4), k.param("n", i32)
    with k.loop("i", 0, 4) as i:
        with k.loop("j", 0, 4, go=n > 3, goes_on="go") as j:
            k.accumulate(y, j.i, k.load(x, n))
            j.then(go=k.load(x, j.i) > 0.0)
        with k.repeat(lambda w: w.n < 4, n=n) as w:
            k.accumulate(y, i.i, k.load(x, n - 3))
            w.then(n=w.n + 1)
    before = k.kernel()
    assert [s for s in statements(move_loop_invariants(before).body) if isinstance(s, Load)] == [
        s for s in statements(before.body) if isinstance(s, Load)
    ]


def test_a_private_buffer_made_in_the_loop_keeps_its_loads() -> None:
    k = Building()
    y = k.field("y", 4)
    with k.loop("i", 0, 4), k.loop("j", 0, 4) as j:
        buffer = k.buffer("buffer", 4)
        k.store(y, j.i, k.load(buffer, 0, hint="inside"))
    assert depths(k.kernel())["inside"] == 2


def test_nothing_to_move_gives_the_kernel_itself() -> None:
    k = Building()
    x = k.field("x", 4)
    with k.loop("i", 0, 4) as i:
        k.accumulate(x, i.i, k.load(x, i.i))
    kernel = k.kernel()
    assert move_loop_invariants(kernel) is kernel
