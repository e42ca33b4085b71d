"""Runs that write to gradients, or copy fields with theirs: adjoints of the backward pass are elsewhere."""

import copy

import numpy as np
import pytest

import dsim as ti
from tests.runtime.taping import single

pytestmark = pytest.mark.filterwarnings("ignore::dsim.GradientWarning")


@pytest.fixture(autouse=True)
def _fresh():
    ti.init(default_fp=ti.f64)


@ti.kernel
def square(x: ti.template(), a: ti.template()):
    for i in x:
        x[i] = a[i] ** 2


@ti.kernel
def write(x: ti.template()):
    for i in x:
        x.grad[i] = 5.0


@ti.kernel
def read(x: ti.template(), seen: ti.template()):
    for i in x:
        seen[i] = x.grad[i]


@ti.kernel
def total(x: ti.template(), y: ti.template()):
    y[None] = 0.0
    for i in x:
        y[None] += x[i]


def program(what):
    """x squared twice, by steps that also do `what`; x, the sum, a step, and what follows the steps."""
    x, y = ti.field(ti.f64, shape=3, needs_grad=True, name="x"), single("y")
    seen = ti.field(ti.f64, shape=3, name="seen")
    x.fill(1.5)
    made = {"copy": copy.copy, "deep copy": copy.deepcopy}.get(what, lambda x: x)
    beside = {"write": lambda: write(x), "read": lambda: read(x, seen)}.get(what, lambda: None)

    def step(_):
        square(x, made(x))
        beside()

    return x, y, step, lambda: total(x, y)


WHAT = ["nothing", "write", "read", "copy", "deep copy"]


@pytest.mark.parametrize("stale", [0.0, 100.0])
@pytest.mark.parametrize("what", WHAT)
@pytest.mark.parametrize("slots", [0, 1, 2])
def test_transforms(what, slots, stale):
    """Whatever the user's gradients hold: y is the sum of x⁴."""
    x, y, step, end = program(what)

    def run():
        if slots:
            ti.ad.checkpoint(step, 2, slots=slots)
        else:
            step(0)
            step(1)
        end()

    x.grad.fill(stale)
    touched = x.grad.touched
    pull = ti.vjp(run, wrt=x, out=y)[1]
    found = [
        ti.grad(run, wrt=x, out=y)(),
        pull(1.0),
        pull(1.0),
        ti.jacobian(run, wrt=x, out=y),
        ti.linearize(run, wrt=x, out=y).rmatvec(np.ones(1)),
        ti.objective(run, wrt=x, loss=y)(np.full(3, 1.5))[1],
    ]
    assert np.array_equal(found, np.full((6, 3), 13.5))
    assert np.array_equal(ti.hessian(run, wrt=x, out=y), 27 * np.eye(3))
    assert (x.grad.to_numpy() == stale).all()
    assert x.grad.touched == touched


@pytest.mark.parametrize("what", WHAT)
@pytest.mark.parametrize("how", ["plain", "steps", "one slot", "budget"])
def test_tapes(what, how):
    """What the block writes to a gradient is there in the end, with the gradient of the loss."""
    x, y, step, end = program(what)
    with ti.Tape(y, budget=120 if how == "budget" else None) as tape:
        numbers = range(2)
        for n in tape.steps(numbers, slots=1 + (how == "steps")) if how in ("steps", "one slot") else numbers:
            step(n)
        end()
    assert (x.grad.to_numpy() == (18.5 if what == "write" else 13.5)).all()
