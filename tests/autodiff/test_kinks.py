"""Functions at ties, corners and steps: both modes return the documented derivative."""

import math

import numpy as np
import pytest

import dsim as ti
from tests.autodiff.special_points import check_both_modes, gatherer

pytestmark = pytest.mark.filterwarnings("ignore:warning.unreached:dsim.GradientWarning")  # of steps

CASES = {}
case = gatherer(CASES)


@case(1.0, 1.0, value=1.0, partials=[0.0, 1.0])
def greater_of_two_equals(x, y):
    return ti.max(x, y)


@case(1.0, 1.0, value=1.0, partials=[0.0, 1.0])
def lesser_of_two_equals(x, y):
    return min(x, y)


@case(1.0, 1.0, value=1.0, partials=[0.0, 1.0])
def local_maximum_of_equals(x, y):
    r = x
    ti.atomic_max(r, y)
    return r


@case(1.0, 1.0, value=1.0, partials=[0.0, 1.0])
def local_minimum_of_equals(x, y):
    r = x
    ti.atomic_min(r, y)
    return r


@case(0.0, value=0.0, partials=[0.0])
def size_of_zero(x):
    return abs(x)


@case(-0.0, value=0.0, partials=[0.0])
def size_of_negative_zero(x):
    return ti.abs(x)


@case(0.0, value=0.0, partials=[0.0])
def ramp_with_the_corner_on_the_right(x):
    return ti.max(x, 0.0)


@case(0.0, value=0.0, partials=[1.0])
def ramp_with_the_corner_on_the_left(x):
    return ti.max(0.0, x)


@case(0.0, value=0.0, partials=[0.0])
def sign_of_zero(x):
    return ti.math.sign(x)


@case(-2.0, value=2.0, partials=[-1.0])
def sign_times_number(x):
    return ti.math.sign(x) * x


@case(-2.5, value=7.5, partials=[-3.0])
def floor_times_number(x):
    return ti.floor(x) * x


@case(2.0, value=4.0, partials=[2.0])
def floor_at_a_step(x):
    return ti.floor(x) * x


@case(-2.5, value=5.0, partials=[-2.0])
def ceiling_times_number(x):
    return ti.ceil(x) * x


@case(2.5, value=5.0, partials=[2.0])
def half_is_rounded_to_even(x):
    return ti.round(x) * x


@case(-2.25, value=0.75, partials=[1.0])
def fraction_of_a_negative_number(x):
    return ti.math.fract(x)


@case(-5.5, 2.0, value=0.5, partials=[1.0, 3.0])
def remainder_has_the_sign_of_the_divisor(x, y):
    return x % y


@case(5.5, -2.0, value=-0.5, partials=[1.0, 3.0])
def remainder_by_a_negative_number(x, y):
    return ti.math.mod(x, y)


@case(-5.5, 2.0, value=-1.5, partials=[1.0, 2.0])
def remainder_with_the_sign_of_the_number(x, y):
    return ti.math.fmod(x, y)


@case(5.5, -2.0, value=1.5, partials=[1.0, 2.0])
def remainder_of_pythons_own(x, y):
    return math.fmod(x, y)


@case(0.0, 2.0, value=0.0, partials=[1.0, 0.0])
def remainder_of_zero(x, y):
    return ti.math.fmod(x, y)


@case(-5.5, 2.0, value=-3.0, partials=[0.0, 0.0])
def quotient_rounded_down(x, y):
    return x // y


@case(0.0, value=0.0, partials=[1.0])
def tangent_at_zero(x):
    return ti.tan(x)


@pytest.mark.slow
@pytest.mark.parametrize("real", [ti.f64, ti.f32], ids=str)
@pytest.mark.parametrize("name", CASES)
def test_both_modes(name, real):
    check_both_modes(CASES[name], real)


@pytest.mark.parametrize("op", ["max", "min"])
def test_of_iterations_that_tie_the_last_one_has_the_gradient(op):
    ti.init(default_fp=ti.f64)
    x = ti.field(ti.f64, shape=6, needs_grad=True)
    best = ti.field(ti.f64, shape=2, needs_grad=True)
    y = ti.field(ti.f64, shape=(), needs_grad=True)
    x.from_numpy(np.array([3.0, 3.0, 3.0, 1.0, 1.0, 3.0]) * (1 if op == "max" else -1))
    highest = op == "max"

    @ti.kernel
    def run():
        for i in x:
            if ti.static(highest):
                ti.atomic_max(best[i % 2], x[i])
            else:
                ti.atomic_min(best[i % 2], x[i])
        for i in best:
            y[None] += best[i]

    with ti.ad.Tape(y):
        run()
    assert x.grad.to_numpy().tolist() == [0.0, 0.0, 1.0, 0.0, 0.0, 1.0]
    for n, slope in enumerate([0.0, 0.0, 1.0, 0.0, 0.0, 1.0]):
        best.fill(0.0)
        with ti.ad.FwdMode(loss=y, param=x, seed=np.eye(6)[n]):
            run()
        assert y.dual[None] == slope
