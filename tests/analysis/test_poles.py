"""Variables between a pole and a selection."""

from dsim.analysis.poles import unchosen
from dsim.ir.build import Builder, const, index
from dsim.ir.nodes import Block, For, If, Var
from dsim.ir.types import f64, i32

X, Y, W = Var("x", f64), Var("y", f64), Var("w", f64)


def test_between_a_pole_and_a_choice():
    b = Builder()
    before = b.let("mul", X, W)
    quotient = b.let("div", before, Y)
    product = b.let("mul", quotient, W)
    chosen = b.let("select", b.let("gt", Y, const(0, f64)), product, W)
    after = b.let("mul", chosen, W)
    assert unchosen(b.close((after,))) == {quotient, product}


def test_what_is_used_in_a_branch_only():
    b = Builder()
    product = b.let("mul", b.let("div", X, Y), W)
    with b.block() as then:
        inside = b.let("mul", product, W)
    result = b.fresh("r", f64)
    cond = b.let("gt", Y, const(0, f64))
    b.add(If(cond, Block(tuple(then), (inside,)), Block((), (W,)), (result,)))
    found = unchosen(b.close((b.let("mul", result, W),)))
    assert product in found
    assert inside not in found
    assert result not in found


def test_what_a_loop_carries_is_used_in_any_case():
    b = Builder()
    start = b.let("div", X, Y)
    carried, i, result = b.fresh("c", f64), b.fresh("i", i32), b.fresh("r", f64)
    with b.block() as inner:
        following = b.let("mul", carried, b.let("sin", carried))
    b.add(For(i, index(0), index(9), 1, Block(tuple(inner), (following,)), (carried,), (start,), (result,)))
    assert unchosen(b.close((result,))) == frozenset()


def test_without_a_choice_nothing_is():
    b = Builder()
    b.let("mul", b.let("div", X, Y), W)
    assert unchosen(b.close()) == frozenset()


def test_division_by_a_number_and_whole_powers_have_no_pole():
    b = Builder()
    b.let("select", b.let("gt", Y, const(0, f64)), b.let("mul", b.let("div", X, const(2, f64)), W), W)
    assert unchosen(b.close()) == frozenset()
