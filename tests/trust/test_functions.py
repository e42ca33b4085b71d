"""Functions with kinks and poles, rounding, and random numbers, in both modes."""

import numpy as np
import pytest

import dsim as ti
from tests.trust.making import Program, both_types, check, gradient, integers, numbers


@both_types
@pytest.mark.parametrize("start", [0.0, 4.0])
def test_lengths_at_zero(start, real):
    x, loss = ti.Vector.field(2, real, shape=2, needs_grad=True), numbers(real=real)
    x[1] = [start, 0.0]

    @ti.kernel
    def run():
        for i in x:
            loss[None] += x[i].norm() + x[i].normalized()[1]

    slope = float(start > 0)
    assert gradient(loss, run, x) == [[0.0, 0.0], [slope, 1 / start if start else 0.0]]
    with ti.ad.FwdMode(loss=loss, param=x, seed=[[1.0, 1.0], [1.0, 1.0]]):
        run()
    assert loss.dual[None] == slope + (1 / start if start else 0.0)


@both_types
def test_a_root_that_is_not_taken(real):
    x, loss = numbers(3, start=[0.0, 4.0, -1.0], real=real), numbers(real=real)

    @ti.kernel
    def run():
        for i in x:
            loss[None] += ti.select(x[i] > 0, ti.sqrt(x[i]), 0.0)
            loss[None] += ti.sqrt(x[i]) if x[i] > 0 else 0.0
            if x[i] > 0:
                loss[None] += ti.sqrt(x[i])

    assert gradient(loss, run, x) == [0.0, 0.75, 0.0]
    with ti.ad.FwdMode(loss=loss, param=x, seed=[1.0, 1.0, 1.0]):
        run()
    assert loss.dual[None] == 0.75


def _steps_and_remainders(real):
    x, loss = numbers(6, start=[-2.7, -1.2, 0.3, 0.8, 1.45, 2.6], real=real), numbers(real=real)

    @ti.kernel
    def run():
        for i in x:
            loss[None] += ti.tan(0.5 * x[i]) * ti.math.fract(x[i]) + ti.round(x[i]) * x[i] ** 2
            loss[None] += ti.floor(x[i]) * x[i] - ti.ceil(x[i]) * ti.sin(x[i])
            loss[None] += (x[i] % 0.7) * (2.3 % (3.1 + x[i])) + (x[i] // 0.7) * x[i]
            loss[None] += ti.math.mod(x[i], -1.1) ** 2 + ti.math.fmod(x[i], 1.1) ** 2

    return Program(run, x, loss)


@pytest.mark.slow
@both_types
def test_tangent_rounding_and_remainders(real):
    check(_steps_and_remainders, real)


@both_types
def test_random_numbers_are_the_same_backwards_and_forwards(real):
    n = 50
    x, drawn, loss = numbers(start=2.0, real=real), numbers(n, 2, real=real), numbers(real=real)

    @ti.kernel
    def walk():
        for i in range(n):
            drawn[i, 0] = ti.random()
            drawn[i, 1] = ti.randn()
            v = x[None]
            for _ in range(3):
                v = v * (1.0 + 0.1 * ti.random()) + 0.1 * x[None] * ti.randn()
            loss[None] += drawn[i, 0] * x[None] + drawn[i, 1] * x[None] ** 2 + v

    def slope(value):
        """What is linear in x has slope value / x; the square adds as much once more."""
        squares = float(drawn.to_numpy()[:, 1].astype(np.float64).sum()) * 4.0
        return (value + squares) / 2.0

    found = gradient(loss, walk, x)
    assert found == pytest.approx(slope(loss[None]), rel=1e-4)
    loss[None] = 0.0
    with ti.ad.FwdMode(loss=loss, param=x):
        walk()
    assert loss.dual[None] == pytest.approx(slope(loss[None]), rel=1e-4)


@both_types
def test_random_numbers_in_loops_that_overwrite(real, capfd):
    start = np.array([1.0, 2.0, 3.0, 0.25, 0.5])
    x, loss = numbers(5, start=start, real=real), numbers(real=real)
    count = integers()

    @ti.kernel
    def noisy():
        for i in x:
            for k in range(3):
                x[i] = x[i] * (0.5 + ti.random())
                if x[i] > 0.3:
                    x[i] = x[i] * (1.0 + 0.1 * ti.randn())
                count[None] += 1
                if i == 0 and k == 0:
                    print("launched")

    @ti.kernel
    def add_up():
        for i in x:
            loss[None] += x[i]

    def run():
        noisy()
        noisy()
        add_up()

    found = gradient(loss, run, x)  # every step is a multiplication
    np.testing.assert_allclose(found, x.to_numpy() / start, rtol=1e-5)
    assert count[None] == 30
    assert capfd.readouterr().out.count("launched") == 2


@pytest.mark.slow
@both_types
def test_a_derivative_leaves_the_sequence_of_random_numbers_as_it_is(real):
    def sequence(context):
        ti.init(default_fp=real, random_seed=5)
        x, y, loss = numbers(start=1.0, real=real), numbers(8, real=real), numbers(real=real)

        @ti.kernel
        def draw():
            for i in y:
                y[i] = ti.random() + ti.randn()

        @ti.kernel
        def noisy():
            for _ in range(4):
                loss[None] += x[None] * ti.random()

        found = []
        draw()
        found.append(y.to_numpy())
        with context(loss, x):
            noisy()
        draw()
        return [*found, y.to_numpy()]

    plain = sequence(lambda loss, x: ti.ad.FwdMode(loss=loss, param=loss))
    assert not np.array_equal(plain[0], plain[1])
    for context in (
        lambda loss, x: ti.ad.Tape(loss),
        lambda loss, x: ti.ad.FwdMode(loss=loss, param=x),
    ):
        np.testing.assert_array_equal(sequence(context), plain)
