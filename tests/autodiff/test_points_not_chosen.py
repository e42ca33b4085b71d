"""Poles, and points outside a domain, that a condition excludes: they do not affect either mode.

Random expressions of that kind are in ``test_unchosen.py``.
"""

import pytest

import dsim as ti
from tests.autodiff.special_points import check_both_modes, gatherer, placed

pytestmark = pytest.mark.filterwarnings("ignore:warning.serial:dsim.DsimWarning")

CASES = {}
case = gatherer(CASES)


@case(0.0, value=0.0, partials=[0.0])
def root_not_chosen(x):
    return ti.select(x > 0, ti.sqrt(x), 0.0)


@case(-1.0, value=0.0, partials=[0.0])
def root_of_a_negative_number_not_chosen(x):
    return ti.select(x > 0, ti.sqrt(x) * x, 0.0)


@case(0.0, value=0.0, partials=[0.0])
def root_not_taken(x):
    r = 0.0
    if x > 0:
        r = ti.sqrt(x)
    return r


@case(0.0, value=0.0, partials=[0.0])
def power_not_chosen(x):
    return ti.select(x > 0, x**0.5, 0.0)


@case(0.0, value=0.0, partials=[0.0])
def logarithm_not_chosen(x):
    return ti.select(x > 0, x * ti.log(x), 0.0)


@case(-1.0, value=0.0, partials=[0.0])
def logarithm_of_a_negative_number_not_chosen(x):
    return ti.log(x) ** 2 if x > 0 else 0.0


@case(1.0, value=0.0, partials=[0.0])
def arc_sine_not_chosen(x):
    return ti.select(abs(x) < 1, ti.asin(x), 0.0)


@case(-1.0, value=0.0, partials=[0.0])
def arc_cosine_not_chosen(x):
    return ti.select(abs(x) < 1, ti.acos(x) * x, 0.0)


@case(2.0, value=0.0, partials=[0.0])
def arc_sine_outside_of_its_domain_not_chosen(x):
    return ti.select(x < 1, ti.asin(x) * x, 0.0)


@case(0.0, 3.0, value=0.0, partials=[0.0, 0.0])
def quotient_times_number_not_chosen(x, y):
    return ti.select(x > 0, y / x * y, 0.0)


@case(0.0, value=1.0, partials=[0.0])
def sinc_at_zero(x):
    return ti.select(x == 0, 1.0, ti.sin(x) / x)


@case(0.0, value=0.0, partials=[0.0])
def wave_that_gets_quicker_and_quicker(x):
    return ti.select(x != 0, x * ti.sin(1 / x), 0.0)


@case(1000.0, value=1000.0, partials=[1.0])
def soft_ramp(x):
    return x if x > 20 else ti.log(1 + ti.exp(x))


@case(-1000.0, value=0.0, partials=[0.0])
def logistic_function(x):
    return 1 / (1 + ti.exp(-x)) if x > 0 else ti.exp(x) / (1 + ti.exp(x))


@case(1000.0, value=1.0, partials=[0.0])
def hyperbolic_functions_not_chosen(x):
    return ti.select(x < 10, ti.cosh(x) * ti.sinh(x), 1.0)


@case(0.0, 0.0, value=0.0, partials=[0.0, 0.0])
def angle_of_the_origin_not_chosen(y, x):
    return ti.select(x * x + y * y > 0, ti.atan2(y, x), 0.0)


@case(0.0, 2.0, value=0.0, partials=[0.0, 0.0])
def remainder_by_zero_not_chosen(x, y):
    return ti.select(x != 0, y % x * y, 0.0)


@case(0.0, 0.0, value=0.0, partials=[0.0, 0.0])
def direction_by_hand_not_chosen(x, y):
    v = ti.Vector([x, y])
    d = v * (1 / v.norm())
    return ti.select(v.norm() > 0, d.x * (2 + x) + d.y, 0.0)


@case(0.0, 2.0, value=1.0, partials=[0.0, 0.0])
def sum_of_a_loop_not_chosen(x, y):
    s = 0.0
    for i in range(3):
        s += y / x * (y + i)
    return ti.select(x > 0, s, 1.0)


@case(0.0, 2.0, value=1.0, partials=[0.0, 0.0])
def entry_of_a_local_vector_not_chosen(x, y):
    v = ti.Vector([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0])
    for i in range(9):
        v[i] = y / x * v[(i + 4) % 9]
    return ti.select(x > 0, v[int(y)], 1.0)


@case(0.0, 2.0, value=1.0, partials=[0.0, 0.0])
def used_in_a_branch_that_is_not_taken(x, y):
    r = y / x * y
    s = 1.0
    if x > 0:
        for k in range(3):
            s += r * k
    return s


@case(0.0, 2.0, value=1.0, partials=[0.0, 0.0])
def used_in_a_loop_that_makes_no_trip(x, y):
    r = y / x * y
    s = 1.0
    for _ in range(int(x)):
        s += r
    return s


@case(0.0, 2.0, value=1.0, partials=[0.0, 0.0])
def used_in_a_while_that_makes_no_trip(x, y):
    r = y / x * y
    s = 1.0
    while s < x:
        s += r
    return s


@pytest.mark.slow
@pytest.mark.parametrize("real", [ti.f64, ti.f32], ids=str)
@pytest.mark.parametrize("name", CASES)
def test_both_modes(name, real):
    check_both_modes(CASES[name], real)


@pytest.mark.parametrize(
    "name", [name for name in CASES if "not_" in name or "_no_" in name or "soft" in name]
)
def test_second_derivatives_of_what_is_not_chosen(name):
    f, at, _, _ = CASES[name]
    x, y, kernel = placed(f, at, ti.f64)
    with ti.ad.FwdMode(loss=y, param=x, seed=[1.0] * len(x)), ti.ad.Tape(y):
        kernel()
    assert [field.grad.dual[None] for field in x] == [0.0] * len(x)
