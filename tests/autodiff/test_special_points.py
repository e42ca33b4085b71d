"""Powers, angles, lengths and casts at special points: both modes return the documented derivative.

Ties and steps are in ``test_kinks.py``, poles that a condition leaves out in ``test_points_not_chosen.py``.
"""

import math

import pytest

import dsim as ti
from tests.autodiff.special_points import check_both_modes, gatherer

pytestmark = pytest.mark.filterwarnings("ignore:warning.unreached:dsim.GradientWarning")  # of casts

INFINITY = math.inf
CASES = {}
case = gatherer(CASES)


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


@pytest.mark.slow
@pytest.mark.parametrize("real", [ti.f64, ti.f32], ids=str)
@pytest.mark.parametrize("name", CASES)
def test_both_modes(name, real):
    check_both_modes(CASES[name], real)
