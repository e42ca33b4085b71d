"""Which variables lie between a pole and a choice."""

from dsim.analysis.guards import unchosen
from dsim.ir.build import Builder, const
from dsim.ir.nodes import Var
from dsim.ir.types import f64

X, Y, W = Var("x", f64), Var("y", f64), Var("w", f64)


def test_between_a_pole_and_a_choice():
    b = Builder()
    before = b.let("mul", X, W)
    quotient = b.let("div", before, Y)
    product = b.let("mul", quotient, W)
    chosen = b.let("select", b.let("gt", Y, const(0, f64)), product, W)
    after = b.let("mul", chosen, W)
    assert unchosen(b.close((after,))) == {quotient, product}


def test_without_a_choice_nothing_is():
    b = Builder()
    b.let("mul", b.let("div", X, Y), W)
    assert unchosen(b.close()) == frozenset()


def test_division_by_a_number_and_whole_powers_have_no_pole():
    b = Builder()
    b.let("select", b.let("gt", Y, const(0, f64)), b.let("mul", b.let("div", X, const(2, f64)), W), W)
    assert unchosen(b.close()) == frozenset()
