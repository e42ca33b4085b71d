"""Plain Python functions called in kernels with runtime values: inlined, with gradients through them."""

from __future__ import annotations

import functools
import math
from types import SimpleNamespace

import numpy as np
import pytest

import dsim as ds
from dsim.diagnostics import KernelAssertionError, KernelTypeError
from tests.api.plain_functions.functions import Spring, bent, of, passed_on, summed


@pytest.fixture(autouse=True)
def doubles():
    ds.init(default_fp=ds.f64)


def factorial(n, v):
    return v if n == 0 else n * factorial(n - 1, v)


def doubled(function):
    @functools.wraps(function)
    def wrapper(*args, **named):
        return 2.0 * function(*args, **named)

    return wrapper


@doubled
def next_of(a):
    return a + 1.0


@functools.lru_cache
def remembered(a):
    return a * 7.0


spring = Spring(4.0)
pair = (lambda a: a + 10.0, lambda a: a * 20.0)  # two in one line
by_name = {"up": lambda a: a + 1.0, "down": lambda a: a - 1.0}


@pytest.mark.parametrize(
    ("function", "wanted"),
    [
        (bent, 18.0),
        (functools.partial(bent, power=3), 54.0),
        (functools.partial(bent, offset=1.0), 19.0),
        (functools.partial(functools.partial(bent, offset=1.0), offset=2.0), 20.0),
        (functools.partial(math.pow, 2.0), 8.0),
        (lambda v: summed(v, 1, v, scale=2.0), 14.0),
        (lambda v: passed_on(bent, v, power=1, offset=0.5), 6.5),
        (lambda v: factorial(4, v), 72.0),
        (next_of, 8.0),
        (remembered, 21.0),
        (spring.energy, 18.0),
        (spring, 7.0),
        (spring.law, -12.0),
        (spring.fresh, 12.0),
        (Spring.less, 2.0),
        (Spring.named, 1.0),
        (pair[0], 13.0),
        (pair[1], 60.0),
        (by_name["down"], 2.0),
        (math.sqrt, math.sqrt(3.0)),
        (np.cos, math.cos(3.0)),
        (lambda v: math.sin(v) + np.sin(v) + max(v, 4.0) + abs(-v), 2 * math.sin(3.0) + 7.0),
    ],
)
def test_what_they_give(function, wanted):
    assert of(function) == pytest.approx(wanted, rel=1e-15)


def test_names_around_the_kernel():
    shapes = [Spring(2.0), Spring(6.0)]
    of_one = SimpleNamespace(f=lambda q: q * q)

    @ds.kernel
    def k(v: float) -> float:
        s = shapes[1].energy(v) + of_one.f(v) + by_name["up"](v) + spring.less(v)
        for f in ds.static([bent, next_of]):
            s += f(v)
        return s

    assert k(3.0) == 27.0 + 9.0 + 4.0 + 2.0 + 18.0 + 8.0


def test_functions_inside_of_functions():
    def of_a_local(v):
        count = 3

        def times(q, more=1.0):
            return q * count + more

        return times(v) + times(1, more=0.0)

    def made(a):
        return lambda q: q * a

    @ds.kernel
    def k(v: float) -> float:
        twice = lambda q, by=2.0: by * q  # noqa: E731
        return of_a_local(v) + 100.0 * made(v)(2.0) + 1000.0 * passed_on(twice, v)

    assert k(3.0) == 13.0 + 600.0 + 6000.0


# ------------------------------------------------------------------ Python's rules


def test_annotations_do_nothing():
    def scaled(n: int, by: int = 1) -> int:
        return n * by * 0.5

    assert of(scaled) == 1.5


def test_a_name_may_come_to_stand_for_a_float():
    def weighted(v):
        s = 0
        for w in (1, 0.5, 2):
            s += v * w
        return s

    assert of(weighted) == 10.5


def test_an_integer_that_becomes_a_float_in_a_loop_is_refused():
    def weighted(v):
        s = 0
        for _ in range(3):
            s += v * 0.5
        return s

    with pytest.raises(KernelTypeError, match="`s` becomes a float here, and was an integer before") as error:
        of(weighted)
    assert "s += v * 0.5" in str(error.value)
    assert "called here" in str(error.value)
    assert "help: start `s` as a float" in str(error.value)


def test_fields_are_changed_and_vectors_are_not():
    x = ds.Vector.field(2, ds.f64, shape=2)

    def store(field, i, v):
        field[i] = [v, v]
        field[i][1] += 1.0

    def shifted(v):
        v = v + 1.0
        v[0] = 9.0
        return v

    def changed(v):
        v[0] = 9.0
        return v

    def added(v):
        v += 1.0
        return v

    @ds.kernel
    def k(v: float) -> float:
        store(x, 1, v)
        w = shifted(x[1])
        return w[0] + 100.0 * w[1] + 1000.0 * x[1][0]

    assert k(3.0) == 9.0 + 500.0 + 3000.0
    for function in (changed, added):

        @ds.kernel
        def bad(g: ds.template()) -> float:
            w = ds.Vector([1.0, 2.0])
            return g(w)[0]

        with pytest.raises(
            KernelTypeError, match="changes its parameter `v`, which is a vector of 2"
        ) as error:
            bad(function)
        assert "annotate `v: ds.template()`" in str(error.value)


def test_plain_methods_of_structs():
    @ds.dataclass
    class Ball:
        pos: ds.math.vec2
        mass: float

        def weight(self, g):
            return self.mass * g

        def push(self, d):
            self.pos.x += d

    @ds.kernel
    def k(v: float) -> float:
        b = Ball(ds.math.vec2(1.0, 2.0), v)
        for _ in range(2):
            b.push(0.5)
        return b.weight(10.0) + b.pos.x

    assert k(3.0) == 32.0


def test_asserts_and_prints(capfd):
    def positive(v):
        """Says so."""
        assert v < 5.0, f"too large: {v}"
        print("got", v)
        return v

    @ds.kernel
    def k(v: float) -> float:
        return positive(v)

    assert k(3.0) == 3.0
    assert capfd.readouterr().out == "got 3.0\n"
    with pytest.raises(KernelAssertionError, match="too large: 6"):
        k(6.0)


# ------------------------------------------------------------------ derivatives


def curve(a, b=2.0):
    c = a * a
    if c > 4.0:
        return b * c
    return ds.exp(-a) * b


def curve_slope(a, b=2.0):
    return 2.0 * a * b if a * a > 4.0 else -math.exp(-a) * b


def test_gradients_with_tape_and_forward_mode():
    x = ds.field(ds.f64, shape=3, needs_grad=True, needs_dual=True)
    loss = ds.field(ds.f64, shape=(), needs_grad=True, needs_dual=True)

    @ds.kernel
    def k():
        for i in x:
            loss[None] += curve(x[i], b=3.0)

    at = np.array([0.5, 1.5, 3.0])
    x.from_numpy(at)
    with ds.ad.Tape(loss):
        k()
    slopes = [curve_slope(a, 3.0) for a in at]
    np.testing.assert_allclose(x.grad.to_numpy(), slopes, rtol=1e-14)
    with ds.ad.FwdMode(loss=loss, param=x, seed=[1.0, 1.0, 1.0]):
        k()
    assert loss.dual[None] == pytest.approx(sum(slopes), rel=1e-14)


def test_derivatives_in_kernels():
    slope = ds.grad(lambda a: a**4)
    along = ds.forward(spring.energy)

    @ds.kernel
    def k(v: float, g: ds.template()) -> float:
        second = ds.grad(ds.grad(g))
        inner = ds.grad(lambda q: q * v)
        return slope(v) + 1e3 * along(v) + 1e6 * second(v) + 1e9 * inner(v)

    assert k(2.0, lambda a: a**3) == 32.0 + 8e3 + 12e6 + 2e9
    assert repr(slope) == "<func grad(<lambda>)>"


def test_derivative_of_a_partial_function():
    def power(n, a):
        return a**n

    @ds.kernel
    def k(v: float) -> float:
        return slope(v)

    slope = ds.forward(functools.partial(power, 3))
    assert k(2.0) == 12.0


class Trebled:
    def __init__(self, function):
        functools.update_wrapper(self, function)
        self.of = function

    def __call__(self, x):
        return 3.0 * self.of(x)


def test_functions_around_funcs_that_look_like_them():
    @ds.func
    def raised(x):
        return x + 1.0

    around = doubled(raised)
    by_lambda = functools.wraps(raised)(lambda x: 5.0 * raised(x))
    trebled = Trebled(raised)

    @ds.kernel
    def run(f: ds.template(), x: float) -> ds.types.vector(4, float):
        return ds.Vector([around(x), by_lambda(x), trebled(x), f(x)])

    assert list(run(raised, 3.0)) == [8.0, 20.0, 12.0, 4.0]
    assert list(run(around, 3.0)) == [8.0, 20.0, 12.0, 8.0]
