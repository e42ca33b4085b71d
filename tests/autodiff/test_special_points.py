"""Functions where they have a kink, a pole, or no derivative: both modes give what the documentation says."""

import math

import numpy as np
import pytest

import dsim as ti

pytestmark = [
    pytest.mark.filterwarnings("ignore:warning.serial:dsim.DsimWarning"),
    pytest.mark.filterwarnings("ignore:warning.unreached:dsim.GradientWarning"),  # of steps
]

INFINITY = math.inf
CASES = {}


def case(*at, value, partials):
    """A func of one or two numbers, where it is looked at, its value there and its partial derivatives."""

    def add(f):
        CASES[f.__name__] = (ti.func(f), at, value, partials)
        return f

    return add


# ------------------------------------------------------------------ powers


@case(0.0, value=0.0, partials=[0.0])
def square_of_zero(x):
    return x**2


@case(0.0, value=1.0, partials=[0.0])
def zeroth_power_of_zero(x):
    return x**0


@case(-3.0, value=1.0, partials=[0.0])
def zeroth_power_of_a_negative_number(x):
    return x**0.0


@case(0.0, 0.0, value=1.0, partials=[0.0, 0.0])
def zero_to_a_field_that_is_zero(x, y):
    return x**y


@case(0.0, 1.0, value=0.0, partials=[1.0, 0.0])
def zero_to_a_field_that_is_one(x, y):
    return x**y


@case(0.0, 0.5, value=0.0, partials=[INFINITY, 0.0])
def zero_to_a_half(x, y):
    return x**y


@case(-2.0, value=-8.0, partials=[12.0])
def cube_of_a_negative_number(x):
    return x**3


@case(-2.0, value=-0.125, partials=[-0.1875])
def negative_cube_of_a_negative_number(x):
    return x**-3


@case(-2.0, value=4.0, partials=[-4.0])
def negative_base_and_a_whole_float(x):
    return ti.pow(x, 2.0)


@case(-2.0, 3.0, value=-8.0, partials=[12.0])
def negative_base_and_an_exponent_that_is_data(x, y):
    return x ** ti.stop_grad(y)


@case(-2.0, 3.0, value=-8.0, partials=[12.0, 0.0])
def negative_base_and_an_integer_made_of_data(x, y):
    return x ** int(y)


# ------------------------------------------------------------------ angles


@case(0.0, 1.0, value=0.0, partials=[1.0, 0.0])
def angle_on_the_positive_axis(y, x):
    return ti.atan2(y, x)


@case(0.0, -1.0, value=math.pi, partials=[-1.0, 0.0])
def angle_on_the_negative_axis(y, x):
    return ti.atan2(y, x)


@case(1.0, 0.0, value=math.pi / 2, partials=[0.0, -1.0])
def angle_straight_up(y, x):
    return ti.atan2(y, x)


@case(-1.0, 0.0, value=-math.pi / 2, partials=[0.0, 1.0])
def angle_straight_down(y, x):
    return ti.atan2(y, x)


# ------------------------------------------------------------------ lengths


@case(0.0, 0.0, value=0.0, partials=[0.0, 0.0])
def norm_of_zero(x, y):
    return ti.Vector([x, y]).norm()


@case(0.0, 0.0, value=0.0, partials=[0.0, 0.0])
def squared_norm_of_zero(x, y):
    return ti.Vector([x, y]).norm_sqr()


@case(0.0, 0.0, value=0.0, partials=[0.0, 0.0])
def direction_of_zero(x, y):
    return ti.Vector([x, y]).normalized().sum() + ti.math.normalize(ti.Vector([x, y])).y


@case(0.0, 0.0, value=INFINITY, partials=[0.0, 0.0])
def inverse_norm_of_zero(x, y):
    return ti.Vector([x, y]).norm_inv()


@case(3.0, 4.0, value=0.2, partials=[-3 / 125, -4 / 125])
def inverse_norm(x, y):
    return ti.Vector([x, y]).norm_inv()


@case(0.0, 0.0, value=0.0, partials=[0.0, 0.0])
def distance_of_a_point_from_itself(x, y):
    return ti.math.distance(ti.Vector([x, y]), ti.Vector([y, x])) + ti.math.length(ti.Vector([x, y]))


@case(0.0, 0.0, value=0.0, partials=[0.0, 0.0])
def root_of_the_norm_of_zero(x, y):
    return ti.sqrt(ti.Vector([x, y]).norm())


# ------------------------------------------------------------------ ties and kinks


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


# ------------------------------------------------------------------ what is not chosen


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


# ------------------------------------------------------------------ casts and bits


@case(-2.7, value=5.4, partials=[-2.0])
def whole_part_times_number(x):
    return int(x) * x


@case(2.5, value=6.25, partials=[5.0])
def there_and_back_between_floats(x):
    return ti.cast(ti.cast(x, ti.f32), ti.f64) * ti.cast(ti.cast(x, ti.f64), ti.f32)


@case(2.5, value=7.5, partials=[3.0])
def truth_values_as_numbers(x):
    return ti.cast(x > 0, float) * x + bool(x) * x + (x < 3) * x


@case(300.5, value=44 * 300.5, partials=[44.0])
def integers_wrap_when_they_narrow(x):
    return ti.cast(int(x), ti.i8) * x


@case(300.5, value=127 * 300.5 + 255 * 300.5, partials=[382.0])
def floats_stop_at_the_ends_of_integers(x):
    return ti.cast(x, ti.i8) * x + ti.cast(x, ti.u8) * x


@case(-3.5, value=14 * 3.5, partials=[-14.0])
def shifts_of_a_whole_part(x):
    return ((int(x) << 2) + (int(x) >> 1)) * x


@case(5.5, value=5.5 * ((5 & 6) + (5 | 8) + (5 ^ 3) + ~5), partials=[(5 & 6) + (5 | 8) + (5 ^ 3) + ~5])
def bits_of_a_whole_part(x):
    n = int(x)
    return x * ((n & 6) + (n | 8) + (n ^ 3) + ~n)


@case(3.0, value=10.5, partials=[3.5])
def integers_as_floats(x):
    n = 7
    return ti.cast(n, ti.f64) * 0 + (n / 2) * x


# ------------------------------------------------------------------ the tests


@pytest.mark.parametrize("real", [ti.f64, ti.f32], ids=str)
@pytest.mark.parametrize("name", CASES)
def test_both_modes(name, real):
    f, at, value, partials = CASES[name]
    ti.init(default_fp=real)
    x = [ti.field(real, shape=(), needs_grad=True) for _ in at]
    y = ti.field(real, shape=(), needs_grad=True)
    for field, start in zip(x, at, strict=True):
        field[None] = start
    kernel = _of_two(f, *x, y) if len(at) == 2 else _of_one(f, *x, y)
    with ti.ad.Tape(y):
        kernel()
    assert y[None] == pytest.approx(value, rel=1e-6)
    backwards = [field.grad[None] for field in x[: len(partials)]]
    forwards = []
    for n in range(len(partials)):
        with ti.ad.FwdMode(loss=y, param=x, seed=[float(n == k) for k in range(len(x))]):
            kernel()
        forwards.append(y.dual[None])
    np.testing.assert_allclose(backwards, partials, rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(forwards, partials, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize(
    "name", [name for name in CASES if "not_" in name or "_no_" in name or "soft" in name]
)
def test_second_derivatives_of_what_is_not_chosen(name):
    f, at, _, _ = CASES[name]
    ti.init(default_fp=ti.f64)
    x = [ti.field(ti.f64, shape=(), needs_grad=True) for _ in at]
    y = ti.field(ti.f64, shape=(), needs_grad=True)
    for field, start in zip(x, at, strict=True):
        field[None] = start
    kernel = _of_two(f, *x, y) if len(at) == 2 else _of_one(f, *x, y)
    with ti.ad.FwdMode(loss=y, param=x, seed=[1.0] * len(x)), ti.ad.Tape(y):
        kernel()
    assert [field.grad.dual[None] for field in x] == [0.0] * len(x)


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


def _of_one(f, x, y):
    @ti.kernel
    def run():
        y[None] = f(x[None])

    return run


def _of_two(f, a, b, y):
    @ti.kernel
    def run():
        y[None] = f(a[None], b[None])

    return run
