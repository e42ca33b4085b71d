"""Nested tapes over kernels whose own loops overwrite values that their gradient needs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import dsim as ti
from dsim.runtime.driver import programs
from dsim.runtime.state import settings
from tests.corpus import test_second_order as second_order
from tests.corpus.matrix import Trial

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:warning.serial:dsim.DsimWarning"),
    pytest.mark.filterwarnings("ignore:warning.unreached:dsim.DsimWarning"),
]

N = 4
START = np.array([0.53, 0.87, 1.1, 0.42])
STEP = 1e-6


@pytest.fixture(autouse=True, params=["cpu", "reference"])
def _backend(request):
    ti.init(default_fp=ti.f64)
    settings.change(replace(settings.current(), backend=request.param))


class Nested:
    """Tapes over tapes: each one's loss is the inner gradient's component along a direction."""

    def __init__(self, step) -> None:
        self.x = ti.field(ti.f64, shape=N, needs_grad=True)
        self.s = ti.field(ti.f64, shape=N, needs_grad=True)
        self.most = ti.field(ti.f64, shape=(), needs_grad=True)
        self.losses = [ti.field(ti.f64, shape=(), needs_grad=True) for _ in range(3)]
        self.directions = np.random.default_rng(5).normal(size=(2, N))
        self.step = step(self.s, self.most)
        x, s, loss, most = self.x, self.s, self.losses[0], self.most

        @ti.kernel
        def begin():
            most[None] = 0.1
            for i in x:
                s[i] = x[i]

        @ti.kernel
        def total():
            for i in s:
                loss[None] += s[i] ** 3 * most[None]

        self.begin, self.total = begin, total
        self.along = [self._along(n) for n in range(2)]

    def _along(self, n: int):
        x, loss, direction = self.x, self.losses[n + 1], ti.field(ti.f64, N)
        direction.from_numpy(self.directions[n])

        @ti.kernel
        def along():
            for i in x:
                loss[None] += direction[i] * x.grad[i]

        return along

    def derivative(self, order: int, at: np.ndarray) -> np.ndarray:
        self.x.from_numpy(at)
        self._tape(order)
        return self.x.grad.to_numpy()

    def _tape(self, order: int) -> None:
        with ti.Tape(self.losses[order - 1]):
            if order == 1:
                self.begin()
                self.step()
                self.total()
            else:
                self._tape(order - 1)
                self.along[order - 2]()

    def agrees(self, order: int) -> None:
        h = STEP * self.directions[order - 2]
        ahead, behind = (self.derivative(order - 1, START + sign * h) for sign in (1, -1))
        wanted = (ahead - behind) / (2 * STEP)
        assert np.abs(wanted).max() > 1e-3
        np.testing.assert_allclose(
            self.derivative(order, START), wanted, rtol=0, atol=1e-7 * np.abs(wanted).max()
        )


def in_place(s, most):
    @ti.kernel
    def step():
        ti.loop_config(serialize=True)
        for k in range(9):
            s[k % N] = ti.sin(s[k % N]) * s[(k * 3 + 1) % N] + 0.5

    return step


def while_in_each(s, most):
    @ti.kernel
    def step():
        for i in s:
            while s[i] < 2.0:
                s[i] = s[i] ** 2 + 0.3
                if s[i] > 1.7:
                    break

    return step


def results_read_again(s, most):
    """The adjoint reads the maximum and a product as the kernel leaves them."""

    @ti.kernel
    def step():
        ti.loop_config(serialize=True)
        for k in range(6):
            s[k % N] = ti.sin(s[(k + 1) % N]) * 1.3
        for i in s:
            ti.atomic_max(most[None], s[i] * s[i])
        for i in s:
            s[i] = s[i] * most[None]

    return step


@pytest.mark.parametrize("step", [in_place, while_in_each, results_read_again], ids=lambda f: f.__name__)
def test_a_gradient_of_a_gradient(step):
    Nested(step).agrees(2)


def test_the_third_order():
    Nested(in_place).agrees(3)


def test_the_tangent_of_a_gradient_of_a_gradient():
    nested = Nested(in_place)
    wanted = nested.derivative(3, START)
    nested.x.from_numpy(START)
    with ti.ad.FwdMode(loss=[nested.x.grad], param=nested.x, seed=nested.directions[1]):
        nested._tape(2)
    np.testing.assert_allclose(nested.x.grad.dual.to_numpy(), wanted, rtol=1e-10)


def test_everything_is_left_as_it_was():
    nested = Nested(in_place)
    nested.derivative(1, START)
    left = nested.s.to_numpy()
    nested.derivative(2, START)
    np.testing.assert_array_equal(nested.s.to_numpy(), left)


@pytest.mark.parametrize(
    "name",
    [
        "mean_and_variance", "doubled_in_place_then_squared", "wave_equation", "material_points",
        "swapped_in_place", "arguments_in_turn",
    ],
)  # fmt: skip
def test_it_is_what_an_adjoint_made_statement_by_statement_gives(name, monkeypatch):
    wanted = second_order._reverse_over_reverse(Trial(name, "f64"))
    monkeypatch.setattr(programs, "writes_again", lambda kernel: True)
    found = second_order._reverse_over_reverse(Trial(name, "f64"))
    np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-11)


def test_a_derivative_that_a_person_gives_need_not_be_symmetric():
    """The custom derivative is that of no function, so its own derivative is no symmetric matrix."""

    @ti.func
    def my_sin(v, w):
        return ti.sin(v) + w

    @ti.func
    def my_jvp(v, w, v_dot, w_dot):
        return ti.cos(v) * w * v_dot + 0.5 * v * w_dot

    my_sin.derivative(jvp=my_jvp)

    def step(s, most):
        @ti.kernel
        def step():
            ti.loop_config(serialize=True)
            for k in range(9):
                s[k % N] = my_sin(s[k % N], s[(k + 1) % N]) * 0.5 + 0.5

        return step

    nested = Nested(step)
    matrix = np.array([forward_over_reverse(nested, e) for e in np.eye(N)]).T
    assert np.abs(matrix - matrix.T).max() > 0.01
    found = nested.derivative(2, START)
    np.testing.assert_allclose(found, nested.directions[0] @ matrix, rtol=1e-11)


def forward_over_reverse(nested, direction):
    nested.x.from_numpy(START)
    with ti.ad.FwdMode(param=nested.x, seed=direction):
        nested._tape(1)
    return nested.x.grad.dual.to_numpy()


def test_custom_derivatives_in_large_fields():
    """Their copies are large buffers: only what is compiled has undo logs for these."""

    @ti.func
    def cube(v):
        return v**3

    @ti.func
    def cube_jvp(v, d):
        return 3 * v * v * d

    cube.derivative(jvp=cube_jvp)
    x = ti.field(ti.f64, shape=80, needs_grad=True)
    loss, second = (ti.field(ti.f64, shape=(), needs_grad=True) for _ in range(2))

    @ti.kernel
    def cubes():
        for i in x:
            for _ in range(3):
                x[i] = cube(x[i]) * 0.9
        for i in x:
            loss[None] += x[i]

    @ti.kernel
    def take():
        for i in x:
            second[None] += x.grad[i]

    at = np.linspace(0.8, 1.1, 80)
    x.from_numpy(at)
    with ti.Tape(second):
        with ti.Tape(loss):
            cubes()
        take()
    factor = 0.9 ** (1 + 3 + 9)
    np.testing.assert_allclose(x.grad.to_numpy(), factor * 27 * 26 * at**25, rtol=1e-12)


@pytest.mark.parametrize("step", [in_place, while_in_each, results_read_again], ids=lambda f: f.__name__)
def test_a_forward_mode_between_two_tapes(step):
    """The outer one differentiates the tangent of the inner one's adjoint: the Hessian's derivative."""
    nested = Nested(step)
    x, (loss, first, second) = nested.x, nested.losses
    direction = ti.field(ti.f64, shape=N)
    direction.from_numpy(nested.directions[1])
    wanted = nested.derivative(3, START)

    @ti.kernel
    def take():
        second[None] += first.dual[None]

    x.from_numpy(START)
    with ti.Tape(second):
        with ti.ad.FwdMode(loss=first, param=x, seed=nested.directions[1]):
            nested._tape(1)
            nested.along[0]()
        take()
    assert loss[None] != 0.0
    np.testing.assert_allclose(x.grad.to_numpy(), wanted, rtol=1e-9, atol=1e-12)
