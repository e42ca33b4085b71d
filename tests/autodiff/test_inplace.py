"""Memory that a kernel overwrites in loops: its adjoint repeats those writes and undoes them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dsim.autodiff import reverse
from dsim.diagnostics import GradientError
from dsim.ir.nodes import Alloc, Append, For, KernelIR, Memory, RollBack, UndoLog
from dsim.ir.show import show
from dsim.ir.types import f32, i32
from dsim.ir.walk import statements
from dsim.passes.parallelization import parallel
from tests.autodiff.inplace import Buffers, Case, ready
from tests.building import Building

RNG = np.random.default_rng(3)


def floats(*shape: int, type: str = "f8") -> np.ndarray:
    return RNG.uniform(-1, 1, shape).astype(type)


def held(kernel: KernelIR, buffers: Buffers, second: bool = True) -> Case:
    case = Case(parallel(kernel), buffers)
    case.hold()
    if second:
        case.tangent_of_adjoint()
    return case


def count(kernel: KernelIR, *types: type) -> int:
    return sum(isinstance(s, types) for s in statements(kernel.body))


def test_an_element_in_place_needs_no_undo_log() -> None:
    k = Building()
    x = k.field("x", 5)
    with k.loop("i", 0, 5) as row:
        k.store(x, row.i, k.load(x, row.i).op("sin"))
    case = held(k.kernel(), {x.key: floats(5)})
    assert case.entry == {x.key}
    assert not case.adjoint.rewritten
    assert count(case.adjoint.kernel, UndoLog, Append, RollBack) == 0


def test_an_element_that_stays_the_same_is_carried() -> None:
    k = Building()
    x = k.field("x", 5)
    with k.loop("i", 0, 5) as row, k.loop("k", 0, 3):
        k.store(x, row.i, k.load(x, row.i).op("sin"))
    case = held(k.kernel(), {x.key: np.array([-0.2556, 0.3, 0.9, -1.0, 2.0])})
    assert not case.adjoint.rewritten
    assert "parallel for i" in show(ready(case.adjoint.kernel))


def in_turn() -> tuple[Building, Memory]:
    """Two elements that a loop takes in turn."""
    k = Building()
    x = k.field("x", 5, 2)
    with k.loop("i", 0, 5) as row, k.loop("t", 0, 5) as t:
        here, other = t.i.op("mod", 2), (t.i + 1).op("mod", 2)
        k.store(x, row.i, here, k.load(x, row.i, here).op("sin") + k.load(x, row.i, other))
    return k, x


@pytest.mark.slow
def test_elements_that_are_not_the_same_in_each_trip() -> None:
    k, x = in_turn()
    case = held(k.kernel(), {x.key: floats(5, 2)})
    assert case.adjoint.rewritten == {x.key}
    assert "parallel for i" in show(ready(case.adjoint.kernel)), "iterations are still independent"


@pytest.mark.slow
def test_time_steps_of_two_fields() -> None:
    k = Building()
    x, y = k.field("x", 4), k.field("y", 4)
    with k.loop("t", 0, 3):
        with k.loop("i", 0, 4) as row:
            k.store(x, row.i, k.load(x, row.i).op("sin") + 0.1 * k.load(y, row.i))
        with k.loop("j", 0, 4) as row:
            k.store(y, row.i, k.load(y, row.i).op("cos") * k.load(x, row.i))
    held(k.kernel(), {x.key: floats(4), y.key: floats(4)})


@pytest.mark.slow
def test_neighbours_within_a_row() -> None:
    k = Building()
    a = k.field("a", 3, 4)
    with k.loop("i", 0, 3) as li, k.loop("k", 0, 3), k.loop("j", 0, 4) as lj:
        other = k.load(a, li.i, (lj.i + 1).op("mod", 4))
        k.store(a, li.i, lj.i, k.load(a, li.i, lj.i).op("sin") * other)
    case = held(k.kernel(), {a.key: floats(3, 4)})
    assert "parallel for i" in show(ready(case.adjoint.kernel))


@pytest.mark.parametrize("op", ["mul", "add", "max", "min"])
def test_accumulations_at_places_that_are_data(op: str) -> None:
    k = Building()
    x, y, at = k.field("x", 4), k.field("y", 6), k.field("at", 6, type=i32)
    with k.loop("t", 0, 6) as row:
        place = k.load(at, row.i)
        value = k.load(x, (place + 1).op("mod", 4)) * k.load(y, row.i)
        k.accumulate(x, place, value.op("sin"), op=op)  # type: ignore[arg-type]
    buffers = {x.key: floats(4), y.key: floats(6), at.key: np.array([0, 1, 1, 3, 0, 2], "i4")}
    held(k.kernel(), buffers)


def test_a_product_in_a_loop() -> None:
    k = Building()
    x, loss = k.field("x", 6), k.field("loss")
    with k.loop("i", 0, 6) as row:
        k.accumulate(loss, k.load(x, row.i), op="mul")
    case = held(k.kernel(), {x.key: floats(6), loss.key: np.array(1.5)})
    assert case.entry == {loss.key}
    assert not case.adjoint.rewritten, "in order it is a value that the loop carries"
    assert not case.adjoint.serial, "the product is the same in any order"


def test_integers_that_steer() -> None:
    """A flag that changes in each trip, and a counter used as an index."""
    k = Building()
    x, y = k.field("x", 4), k.field("y", 8)
    flag, counter = k.field("flag", 4, type=i32), k.field("counter", 4, type=i32)
    with k.loop("i", 0, 4) as row, k.loop("t", 0, 5):
        on = k.load(flag, row.i)

        def yes(row=row) -> None:
            k.store(x, row.i, k.load(x, row.i).op("sin") * k.load(y, k.load(counter, row.i)))
            k.accumulate(counter, row.i, 1)

        k.branch(on.equals(1), yes)
        k.store(flag, row.i, 1 - on)
    buffers = {
        x.key: floats(4),
        y.key: floats(8),
        flag.key: np.array([0, 1, 1, 0], "i4"),
        counter.key: np.array([0, 2, 4, 1], "i4"),
    }
    case = held(k.kernel(), buffers)
    assert case.entry == {x.key, flag.key, counter.key}


def test_places_handed_out_by_a_counter() -> None:
    k = Building()
    x, y, cnt = k.field("x", 5), k.field("y", 5), k.field("cnt", type=i32)
    with k.loop("i", 0, 5) as row:
        slot = k.swap_in(cnt, 1)
        k.store(y, slot, k.load(x, row.i).op("sin"))
    kernel = k.kernel()
    case = held(parallel(kernel), {x.key: floats(5), y.key: floats(5), cnt.key: np.array(0, "i4")})
    assert case.entry == {cnt.key}
    assert not case.adjoint.serial, "stores at unknown places keep the primal in order already"


def test_an_order_that_the_primal_must_keep() -> None:
    k = Building()
    x, y, cnt = k.field("x", 5), k.field("y", 5), k.field("cnt", type=i32)
    with k.loop("i", 0, 5) as row:
        slot = k.swap_in(cnt, 1)
        k.accumulate(y, slot, k.load(x, row.i).op("sin"))
    kernel = parallel(k.kernel())
    assert "parallel for i" in show(kernel)
    case = Case(kernel, {x.key: floats(5), y.key: floats(5), cnt.key: np.array(0, "i4")})
    case.hold()
    assert case.adjoint.serial
    assert "parallel" not in show(ready(case.adjoint.kernel))


@pytest.mark.slow
def test_while_loops_and_branches_write() -> None:
    k = Building()
    x, n = k.field("x", 4), k.field("n", 4, type=i32)
    with k.loop("i", 0, 4) as row:

        def goes(w) -> object:
            return (k.load(n, row.i) < 3).op("band", k.load(x, row.i) < 2.0)

        with k.repeat(goes, s=0.5) as w:  # type: ignore[arg-type]
            k.accumulate(n, row.i, 1)
            old = k.load(x, row.i)

            def then(old=old, row=row, w=w) -> None:
                k.store(x, row.i, old * old + 0.3 * w.s)

            def orelse(old=old, row=row) -> None:
                k.accumulate(x, row.i, old.op("cos"))

            k.branch(old > 0.0, then, orelse)
            w.then(s=w.s + k.load(x, row.i) * 0.25)
        k.accumulate(x, row.i, w.out("s"))
    held(k.kernel(), {x.key: floats(4), n.key: np.array([0, 2, 1, 3], "i4")})


def test_what_one_statement_writes_and_another_reads() -> None:
    k = Building()
    x, y = k.field("x", 4), k.field("y", 4)
    with k.loop("i", 0, 4) as row, k.loop("k", 0, 2):
        k.store(x, row.i, k.load(x, row.i).op("sin"))
    k.store(x, 0, k.load(x, 1) * k.load(x, 2))
    with k.loop("j", 0, 4) as row:
        k.accumulate(y, row.i, k.load(x, row.i) * k.load(x, 0))
    with k.loop("m", 0, 4) as row:
        k.store(x, row.i, 0.0)
    held(k.kernel(), {x.key: floats(4), y.key: floats(4)})


@pytest.mark.slow
def test_a_condition_that_counts() -> None:
    """``while atomic_add(n[i], 1) < 3``: what a condition writes is part of a trip."""
    k = Building()
    x, n, total = k.field("x", 3), k.field("n", 3, type=i32), k.field("total")
    with k.loop("i", 0, 3) as row:

        def goes(w) -> object:
            k.accumulate(total, k.load(x, row.i))
            return k.swap_in(n, row.i, 1) < 3

        with k.repeat(goes):  # type: ignore[arg-type]
            k.store(x, row.i, k.load(x, row.i).op("sin"))
    held(k.kernel(), {x.key: floats(3), n.key: np.array([0, 2, 5], "i4"), total.key: np.array(0.0)})


def test_a_branch_whose_result_is_used() -> None:
    """What it writes is seen inside it alone, what it yields outside."""
    k = Building()
    x, y = k.field("x", 4), k.field("y", 4)
    with k.loop("i", 0, 4) as row:

        def then(row=row) -> tuple:
            with k.loop("t", 0, 3, s=0.0) as t:
                k.store(x, row.i, k.load(x, row.i).op("sin") + t.s)
                t.then(s=t.s + k.load(x, row.i))
            return (t.out("s"),)

        (r,) = k.branch(k.load(y, row.i) > 0.0, then, lambda: (0.5,))
        k.accumulate(y, row.i, r * r)
    held(k.kernel(), {x.key: floats(4), y.key: np.array([0.5, -0.5, 0.7, -0.1])})


@pytest.mark.slow
def test_a_loop_whose_result_is_used() -> None:
    """A parallel loop with a sum: it runs forward with undo logs of its own, which are rewound each trip."""
    k = Building()
    x, y = k.field("x", 4, 2), k.field("y")
    with k.loop("i", 0, 4, s=0.0) as row:
        with k.loop("t", 0, 3) as t:
            at = t.i.op("mod", 2)
            k.store(x, row.i, at, k.load(x, row.i, at).op("sin"))
        row.then(s=row.s + k.load(x, row.i, 0))
    s = row.out("s")
    k.store(y, s * s)
    case = held(k.kernel(), {x.key: floats(4, 2), y.key: np.array(0.0)})
    assert show(ready(case.adjoint.kernel)).count("parallel for") == 2


def test_single_precision_is_left_bit_for_bit() -> None:
    k = Building(float_type=f32)
    x = k.field("x", 5)
    with k.loop("i", 0, 5) as row, k.loop("k", 0, 4):
        k.accumulate(x, row.i, k.load(x, row.i).op("sin"))
    case = Case(parallel(k.kernel()), {x.key: floats(5, type="f4")})
    plain = case.swept(case.adjoint.kernel, case.buffers)
    case.agree(plain, rtol=1e-5)


def test_an_adjoint_that_writes_again_has_none() -> None:
    k, x = in_turn()
    case = Case(k.kernel(), {x.key: floats(5, 2)})
    with pytest.raises(GradientError, match="writes `x` again"):
        reverse(case.adjoint.kernel, case.active | {("x", ("bar",))}, "outer")


def test_steps_of_time_are_logged_once() -> None:
    """What a step reads only to write it again is not done again while going backwards through the step."""
    k = Building()
    a, b = k.field("a", 6), k.field("b", 6)
    with k.loop("t", 0, 4):
        with k.loop("i", 1, 5) as row:
            here, left = k.load(a, row.i), k.load(a, row.i - 1)
            k.store(b, row.i, here - 0.1 * here * (here - left))
        with k.loop("j", 1, 5) as row:
            k.store(a, row.i, k.load(b, row.i))
    case = held(k.kernel(), {a.key: floats(6), b.key: floats(6)})
    forward_run, back = (s for s in case.adjoint.kernel.body.statements if isinstance(s, For))
    assert count(replace(case.adjoint.kernel, body=forward_run.body), Append) == 2
    backwards = replace(case.adjoint.kernel, body=back.body)
    assert count(backwards, Append) == 0
    assert count(backwards, RollBack) == 2


@pytest.mark.slow
def test_trips_that_see_nothing_of_one_another_are_undone_at_once() -> None:
    k = Building()
    x, y, z = k.field("x", 4, 2), k.field("y", 4, 2), k.field("z", 4)
    with k.loop("i", 0, 4) as row:
        with k.loop("j", 0, 2) as col:
            k.store(x, row.i, col.i, k.load(y, row.i, col.i).op("sin"))
        product = k.load(x, row.i, 0) * k.load(x, row.i, 1)
        k.store(z, row.i, product * product)
        k.store(x, row.i, 0, 0.0)
        k.store(x, row.i, 1, 0.0)
    case = held(k.kernel(), {x.key: floats(4, 2), y.key: floats(4, 2), z.key: floats(4)})
    assert case.entry == {x.key}
    inside = [s for s in statements(case.adjoint.kernel.body) if isinstance(s, Alloc)]
    assert not inside, "no mark of each trip is saved"
