"""Loops found to be independent, and the messages about the others."""

from __future__ import annotations

import pytest

from dsim.analysis.dependence.dependence_test import DependenceTest
from dsim.analysis.dependence.independence import Verdict, loop_independence
from dsim.analysis.write_plans import write_plan
from dsim.diagnostics import render
from dsim.ir.nodes import For, KernelIR
from dsim.ir.types import f32, i32
from tests.analysis.kernels import Program


def verdicts(kernel: KernelIR) -> dict[str, Verdict]:
    return {v.name: verdict for v, verdict in loop_independence(kernel).items()}


def independent(p: Program) -> set[str]:
    return {name for name, v in verdicts(p.kernel()).items() if v.independent}


def test_own_element() -> None:
    p = Program()
    x, y = p.field("x", 8), p.field("y", 8)
    with p.loop("i", 0, 8) as i:
        p.store(y, i, value=p.load(x, i) * 2.0)
        p.add(x, i)
    assert independent(p) == {"i"}


def test_gravity_energy_accumulates_into_one_element() -> None:
    p = Program()
    x, U = p.field("x", 8, 2, entry=1), p.field("U")
    with p.loop("i", 0, 8) as i, p.loop("j", 0, 8) as j:
        r = p.load(x, i, 0) - p.load(x, j, 0)
        p.add(U, value=r)
    assert independent(p) == {"i", "j"}


def test_adjoint_of_gravity_scatters_to_both() -> None:
    p = Program()
    x, bar = p.field("x", 8, 2, entry=1), p.field("x", 8, 2, entry=1, derivative=("bar",))
    with p.loop("i", 0, 8) as i, p.loop("j", 0, 8) as j:
        r = p.load(x, i, 0) - p.load(x, j, 0)
        p.add(bar, i, 0, value=r)
        p.add(bar, j, 0, value=-r)
    assert independent(p) == {"i", "j"}


def test_reading_the_neighbour_of_what_is_stored() -> None:
    p = Program("for i in range(1, 8):\n    x[i] = x[i - 1]")
    x = p.field("x", 8)
    p.line(1)
    with p.loop("i", 1, 8) as i:
        p.line(2)
        p.store(x, i, value=p.load(x, i - 1))
    verdict = verdicts(p.kernel())["i"]
    assert not verdict.independent
    assert verdict.reason is not None
    assert "warning[serial]" in render([verdict.reason])
    assert "`x`" in verdict.reason.message


def test_a_time_loop_is_serial_and_its_space_loop_is_not() -> None:
    p = Program()
    x = p.field("x", 10, 8)
    with p.loop("t", 0, 9) as t, p.loop("i", 0, 8) as i:
        p.store(x, t + 1, i, value=p.load(x, t, i))
    assert independent(p) == {"i"}


def test_store_in_an_inner_loop_that_does_not_index_by_it() -> None:
    p = Program()
    x = p.field("x", 8)
    with p.loop("i", 0, 8) as i, p.loop("j", 0, 8) as j:
        p.store(x, i, value=j.cast(f32))
    assert independent(p) == {"i"}


def test_flattened_index() -> None:
    p = Program()
    x = p.field("x", 64)
    with p.loop("i", 0, 8) as i, p.loop("j", 0, 8) as j:
        p.store(x, i * 8 + j, value=j.cast(f32))
    assert independent(p) == {"i", "j"}
    p = Program()
    x = p.field("x", 64)
    with p.loop("i", 0, 8) as i, p.loop("j", 0, 9) as j:
        p.store(x, i * 8 + j, value=j.cast(f32))
    assert independent(p) == {"j"}


def test_index_split_by_quotient_and_remainder() -> None:
    p = Program()
    x = p.field("x", 8, 8)
    with p.loop("k", 0, 64) as k:
        p.store(x, k.op("floordiv", 8), k.op("mod", 8), value=k.cast(f32))
    assert independent(p) == {"k"}
    p = Program()
    x = p.field("x", 8, 8)
    with p.loop("k", 0, 64) as k:
        p.store(x, k.op("mod", 8), k.op("floordiv", 16), value=k.cast(f32))
    assert independent(p) == set()


def test_a_shift_by_a_parameter_may_reach_the_neighbour() -> None:
    p = Program()
    x, n = p.field("x", 80), p.param("n")
    with p.loop("i", 0, n) as i:
        p.store(x, i, value=p.load(x, i + n))
    assert independent(p) == {"i"}
    p = Program()
    x, n, m = p.field("x", 80), p.param("n"), p.param("m")
    with p.loop("i", 0, n) as i:
        p.store(x, i, value=p.load(x, i + m))
    assert independent(p) == set()


def test_indirect_store_is_serial_and_indirect_accumulation_is_not() -> None:
    p = Program()
    x, ends = p.field("x", 8), p.field("ends", 8, type=i32)
    with p.loop("s", 0, 8) as s:
        p.add(x, p.load(ends, s))
    assert independent(p) == {"s"}
    p = Program()
    x, ends = p.field("x", 8), p.field("ends", 8, type=i32)
    with p.loop("s", 0, 8) as s:
        p.store(x, p.load(ends, s), value=s.cast(f32))
    assert independent(p) == set()


def test_all_iterations_store_one_value() -> None:
    p = Program()
    x, ends, v = p.field("x", 8), p.field("ends", 8, type=i32), p.param("v", f32)
    with p.loop("s", 0, 8) as s:
        p.store(x, p.load(ends, s), value=v)
    assert independent(p) == {"s"}


def test_accumulations_of_two_kinds_do_not_commute() -> None:
    p = Program()
    x = p.field("x")
    with p.loop("i", 0, 8) as i:
        p.add(x, value=i.cast(f32))
        p.add(x, value=i.cast(f32), op="max")
    assert independent(p) == set()


def test_reading_a_sum_that_others_add_to() -> None:
    p = Program()
    x, y = p.field("x"), p.field("y", 8)
    with p.loop("i", 0, 8) as i:
        p.add(x)
        p.store(y, i, value=p.load(x))
    assert independent(p) == set()


def test_carried_sum_is_a_reduction_also_through_branches_and_loops() -> None:
    p = Program()
    x = p.field("x", 8)
    with p.loop("i", 0, 8, carry={"s": p.b.term(p.atom(0.0, f32))}) as i:
        p.yields = [p.carried[0] + p.load(x, i)]
    kernel = p.kernel()
    verdict = verdicts(kernel)["i"]
    assert verdict.independent
    assert {v.name: op for v, op in verdict.reductions.items()} == {"s": "add"}


def test_carried_value_that_is_read_on_the_way_is_serial() -> None:
    p = Program()
    x = p.field("x", 8)
    with p.loop("i", 0, 8, carry={"s": p.b.term(p.atom(0.0, f32))}) as i:
        new = p.carried[0] + p.load(x, i)
        p.store(x, i, value=new)
        p.yields = [new]
    verdict = verdicts(p.kernel())["i"]
    assert not verdict.independent
    assert verdict.reason is not None
    assert "`s`" in verdict.reason.message


def test_mixed_operations_are_no_reduction() -> None:
    p = Program()
    x = p.field("x", 8)
    with p.loop("i", 0, 8, carry={"s": p.b.term(p.atom(0.0, f32))}) as i:
        p.yields = [(p.carried[0] + p.load(x, i)).op("max", 0.0)]
    assert independent(p) == set()


def test_a_buffer_of_the_iteration_is_its_own() -> None:
    p = Program()
    x = p.field("x", 8)
    with p.loop("i", 0, 8) as i:
        local = p.private("local", 4)
        with p.loop("k", 0, 4) as k:
            p.store(local, k, value=k.cast(f32))
        p.store(x, i, value=p.load(local, 2))
    assert independent(p) == {"i", "k"}


def test_strided_loops() -> None:
    p = Program()
    x = p.field("x", 20)
    with p.loop("i", 0, 18, step=2) as i:
        p.store(x, i, value=p.load(x, i + 1))
    assert independent(p) == {"i"}
    p = Program()
    x = p.field("x", 20)
    with p.loop("i", 18, 0, step=-2) as i:
        p.store(x, i, value=p.load(x, i + 2))
    assert independent(p) == set()


def test_triangular_loop_touches_each_pair_once() -> None:
    p = Program()
    x = p.field("x", 8, 8)
    with p.loop("i", 0, 8) as i, p.loop("j", i + 1, 8) as j:
        p.store(x, i, j, value=p.load(x, j, i))
    assert independent(p) == {"i", "j"}


def test_only_one_iteration_is_meant_by_a_guard() -> None:
    p = Program()
    x, y = p.field("x", 8), p.field("y")
    with p.loop("i", 0, 8) as i:
        v = p.load(x, i)
        with p.when(i.equals(3)):
            p.store(y, value=v)
    assert independent(p) == {"i"}


@pytest.mark.parametrize("op", ["store", "add"])
def test_branches_that_index_alike_are_asked_about_once(op, monkeypatch) -> None:
    asked, may = [], DependenceTest._may
    monkeypatch.setattr(DependenceTest, "_may", lambda *about: asked.append(about) or may(*about))
    p = Program()
    x, y = p.field("x", 8), p.field("y", 9)
    with p.loop("i", 0, 8) as i:
        value = p.load(x, i)
        for n in range(30):
            with p.when(value > float(n)):
                if op == "add":
                    p.add(y, i + 1, value=value)
                else:
                    p.store(y, i + 1, value=p.load(y, i + 1) * value)
    kernel = p.kernel()
    (loop,) = (s for s in kernel.body.statements if isinstance(s, For))
    assert [v.independent for v in verdicts(kernel).values()] == [True]
    assert {plan.kind for plan in write_plan(kernel, loop).values()} == {"plain"}
    assert len(asked) <= 3


def test_branches_still_tell_accesses_apart() -> None:
    """Guards left aside, a store touches what another trip reads; with them it does not."""
    p = Program()
    y = p.field("y", 20)
    with p.loop("i", 0, 20) as i, p.when(i < 10):
        p.store(y, i, value=p.load(y, i + 10))
    assert independent(p) == {"i"}
    q = Program()
    y = q.field("y", 20)
    with q.loop("i", 0, 20) as i, q.when(i < 11):
        q.store(y, i, value=q.load(y, i + 10 - 1))
    assert independent(q) == set()
