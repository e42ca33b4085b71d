"""Tapes and forward modes nested three deep, with another mode inside that ends before: labels stay apart."""

import itertools

import pytest

import dsim as ti
from tests.runtime.transforms.solutions import numbers

KINDS = ["".join(kinds) for kinds in itertools.product("FT", repeat=3)]


@pytest.fixture
def product():
    """``t = s x`` of ``s = x b c``, of which the derivative by `x`, by `b` and by `c` is ``2 x``."""
    ti.init(default_fp=ti.f64)
    x, b, c, s, t, unrelated = numbers("xbcstu")
    x[None], b[None], c[None] = 0.7, 0.4, 1.5

    @ti.kernel
    def inside():
        s[None] = x[None] * b[None] * c[None]

    @ti.kernel
    def after():
        t[None] = s[None] * x[None]

    def run():
        inside()
        after()

    return x, (b, c), s, t, unrelated, run


def derivative(kind, of, by, inside):
    """The field of the derivative of `of` by `by`, after a mode of this kind around `inside`."""
    if kind == "F":
        with ti.FwdMode(loss=of, param=by):
            inside()
        return of.dual
    with ti.Tape(of):
        inside()
    return by.grad


@pytest.mark.parametrize("empty", [None, *itertools.product(range(3), "su")], ids=str)
@pytest.mark.parametrize("kinds", KINDS)
def test_the_third_derivative(product, kinds, empty):
    x, others, s, t, unrelated, run = product
    first, second = numbers(["first", "second"])

    def begins(level):
        if empty is not None and empty[0] == level:
            with ti.FwdMode(loss=unrelated, param=s if empty[1] == "s" else unrelated):
                pass

    def innermost():
        begins(2)
        run()

    def middle():
        begins(1)
        first.copy_from(derivative(kinds[2], t, x, innermost))

    def outermost():
        begins(0)
        second.copy_from(derivative(kinds[1], first, others[0], middle))

    found = derivative(kinds[0], second, others[1], outermost)
    assert found[None] == pytest.approx(2 * 0.7, rel=1e-12)


@pytest.mark.parametrize("around", [False, True])
def test_a_loss_that_does_not_depend_keeps_no_tangent_of_a_mode_inside(product, around):
    x, (b, _), s, _, _, run = product
    w, other = numbers(["w", "other"])
    w[None] = 3.0

    @ti.kernel
    def of_w():
        other[None] = w[None] ** 2 + 0 * s[None]

    def both():
        with ti.FwdMode(loss=[other, s], param=w):
            with ti.FwdMode(loss=s, param=x):
                run()
            of_w()

    if around:
        with ti.FwdMode(loss=[other, s], param=b):
            both()
    else:
        both()
    assert (other.dual[None], s.dual[None]) == ((0, 0.7 * 1.5) if around else (6, 0))
