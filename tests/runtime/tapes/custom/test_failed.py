"""Functions with custom gradients that raise, where the program continues."""

import pytest

import dsim as ti
from tests.runtime.taping import single


@pytest.fixture(autouse=True)
def _fresh():
    ti.init(default_fp=ti.f64)


def test_one_that_fails_leaves_the_tape_as_it_was():
    x, y = single("x"), single("y")

    @ti.kernel
    def double():
        y[None] += 2 * x[None] ** 2

    @ti.kernel
    def change():
        x[None] = 7.0

    @ti.ad.grad_replaced
    def fails():
        change()
        raise KeyError("no")

    @ti.ad.grad_for(fails)
    def back():
        pass

    x[None] = 3.0
    with ti.Tape(y), ti.ad.FwdMode(loss=y, param=x):
        double()
        with pytest.raises(KeyError):
            fails()
    assert x.grad[None] == 12.0


@pytest.mark.parametrize("taped", [True, False])
def test_what_one_that_failed_wrote_has_no_derivative(taped):
    x, u, y = single("x"), single("u"), single("y")

    @ti.kernel
    def double():
        u[None] = 2 * x[None]

    @ti.kernel
    def add():
        y[None] += u[None]

    @ti.ad.grad_replaced
    def fails():
        double()
        raise KeyError("no")

    @ti.ad.grad_for(fails)
    def back():
        double.grad()

    def run():
        with pytest.raises(KeyError):
            fails()
        add()

    def differentiate():
        if not taped:
            return ti.value_and_grad(run, wrt=x, out=y)()
        with ti.Tape(y):
            run()

    with pytest.raises(ti.GradientError, match="`add` reads `u`, which `fails` wrote before it failed"):
        differentiate()
