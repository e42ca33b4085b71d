"""Functions under `implicit` in steps that run again, with derivatives taken around: to third order."""

import warnings
from types import SimpleNamespace

import numpy as np
import pytest

import dsim as ti
from tests.runtime.transforms.implicit.test_nested import DERIVATIVES, modes, nested
from tests.runtime.transforms.solutions import numbers, springs
from tests.second_orders import assert_second_orders

pytestmark = pytest.mark.slow

STEPS = 2


@pytest.fixture(autouse=True)
def _fresh():
    ti.init(default_fp=ti.f64)


def summed(p, each):
    """The sum of a program's loss over steps; `each` runs them."""
    (total,) = numbers(["total"])
    loss = p.loss

    @ti.kernel
    def add():
        total[None] += loss[None]

    def step(_number):
        p.run()
        add()

    def run():
        total[None] = 0.0
        each(step)

    return SimpleNamespace(k=p.k, loss=total, run=run)


def checkpointed(step):
    ti.ad.checkpoint(step, STEPS, slots=1)


@pytest.mark.parametrize("kinds", ["fr", "rr", "rfr"])
def test_nested_equations_in_steps(kinds):
    exact = STEPS * DERIVATIVES[len(kinds) - 1]
    assert modes(summed(nested(), checkpointed), kinds) == pytest.approx(exact, rel=1e-8)


def test_the_four_compositions_of_springs():
    p = springs()
    p.loss = (q := summed(p, checkpointed)).loss
    rng = np.random.default_rng(1)
    assert_second_orders(q.run, p.k, p.loss, rng)


def cube_root(k, u, r):
    """The function that solves ``u³ = k``; `r` is its residual."""

    @ti.kernel
    def equation():
        r[None] = u[None] ** 3 - k[None]

    @ti.implicit(residual=(equation, r), unknown=u, wrt=k)
    def root():
        u[None] = k[None] ** (1 / 3)

    return root


def test_what_only_the_outer_derivative_varies():
    """The inner tape is by `x` alone; the equations depend on `k`: d²/dx dk of 3 x u with u³ = k."""
    x, u, r, loss = numbers(["x", "u", "r", "loss"])
    k = ti.field(ti.f64, shape=(), name="k")

    root = cube_root(k, u, r)

    @ti.kernel
    def add():
        loss[None] += x[None] ** 2 * u[None]

    def step(_number):
        root()
        add()

    def run():
        with ti.Tape(loss):
            ti.ad.checkpoint(step, STEPS, slots=1)

    x[None], k[None] = 1.5, 8.0
    J = ti.linearize(run, wrt=k, out=x.grad)
    exact = 2 * 1.5 * STEPS / 3 * 8 ** (-2 / 3)
    assert J.matvec([1.0])[0] == pytest.approx(exact, rel=1e-10)
    assert J.rmatvec([1.0])[0] == pytest.approx(exact, rel=1e-10)


@pytest.mark.parametrize("product", ["matvec", "rmatvec"])
def test_calls_as_steps_of_a_tape_with_a_budget(product):
    """The sum of ``k^(2/3)`` over calls: ``u³ = k``, loss ``u²``."""
    k, u, r, loss, total = numbers(["k", "u", "r", "loss", "total"])
    texts = []

    root = cube_root(k, u, r)

    @ti.kernel
    def square():
        loss[None] = u[None] ** 2

    @ti.kernel
    def add():
        total[None] += loss[None]

    def run():
        total[None] = 0.0
        with ti.Tape(total, budget=240) as tape:
            for _ in range(10):
                root()
                square()
                add()
        texts.append(str(tape))

    k[None] = 8.0
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "(?s).*the budget of 240 bytes is small", ti.GradientWarning)
        J = ti.linearize(run, wrt=k, out=k.grad)
    assert "steps" in texts[0], texts[0]
    exact = -10 * 2 / 9 * 8 ** (-4 / 3)
    assert getattr(J, product)([1.0])[0] == pytest.approx(exact, rel=1e-9)
