"""Functions with custom gradients where tapes and forward modes are nested."""

from itertools import product

import numpy as np
import pytest

import dsim as ti
from tests.runtime.taping import single

N = 3
START = np.array([0.7, 1.1, 0.4])
DIRECTIONS = np.random.default_rng(3).normal(size=(3, N))
MODES = ["".join(m) for order in (1, 2, 3) for m in product("RF", repeat=order)]


@pytest.fixture(autouse=True)
def _fresh():
    ti.init(default_fp=ti.f64)


class Nested:
    """A program that is differentiated by each of `modes`, the innermost first, along a direction each."""

    def __init__(self, factor: float = 1.0, reads: bool = False) -> None:
        self.x, self.s, self.u = (ti.field(ti.f64, shape=N, needs_grad=True, name=n) for n in "xsu")
        self.losses = [single(f"loss{n}") for n in range(4)]
        self._kernels(factor)
        if reads:
            ti.ad.grad_for(self.replaced, reads=[self.s, self.x])(self.back)
        self.along = [self._along(n) for n in range(3)]

    def _kernels(self, factor: float) -> None:
        begin, use, total = self._around()
        product = self._replaced(factor)
        self.parts = (begin, use, self.replaced, use, self.replaced, total)
        self.plain = (begin, use, product, use, product, total)

    def _around(self):
        x, s, u, loss = self.x, self.s, self.u, self.losses[0]

        @ti.kernel
        def begin():
            for i in x:
                s[i] = x[i] ** 2
                u[i] = ti.sin(x[i])

        @ti.kernel
        def use():
            for i in s:
                s[i] = s[i] + u[i] ** 3 * s[i]

        @ti.kernel
        def total():
            for i in u:
                loss[None] += u[i] ** 2 * s[i]

        return begin, use, total

    def _replaced(self, factor: float):
        x, s, u = self.x, self.s, self.u

        @ti.kernel
        def product():
            for i in s:
                u[i] = ti.sin(s[i]) * x[i]

        @ti.kernel
        def scale():
            for i in u:
                u.grad[i] *= factor

        @ti.ad.grad_replaced
        def replaced():
            product()

        @ti.ad.grad_for(replaced)
        def back():
            scale()
            product.grad()

        self.replaced, self.back = replaced, back
        return product

    def _along(self, n: int):
        x, before, after = self.x, self.losses[n], self.losses[n + 1]
        direction = ti.field(ti.f64, shape=N)
        direction.from_numpy(DIRECTIONS[n])

        @ti.kernel
        def along(forward: ti.template()):
            if ti.static(forward):
                after[None] += before.dual[None]
            else:
                for i in x:
                    after[None] += direction[i] * x.grad[i]

        return along

    def _level(self, modes: str, parts) -> None:
        if not modes:
            for part in parts:
                part()
            return
        n = len(modes) - 1
        if modes[-1] == "R":
            context = ti.Tape(self.losses[n])
        else:
            self.losses[n][None] = 0.0
            context = ti.ad.FwdMode(loss=self.losses[n], param=self.x, seed=DIRECTIONS[n])
        with context:
            self._level(modes[:-1], parts)
            if n:
                self.along[n - 1](modes[-2] == "F")

    def derivative(self, modes: str, parts=None, start=START) -> float:
        self.x.from_numpy(start)
        self._level(modes, parts or self.parts)
        n = len(modes) - 1
        if modes[-1] == "R":
            return float(self.x.grad.to_numpy() @ DIRECTIONS[n])
        return self.losses[n].dual[None]


@pytest.mark.slow  # derivatives of third order are long to compile
def test_a_right_gradient_in_every_nesting():
    agrees(MODES, reads=False)


@pytest.mark.slow
def test_one_that_names_what_it_reads():
    agrees(("FR", "RR"), reads=True)


def agrees(nestings, reads):
    nested, plain = Nested(reads=reads), Nested()
    for modes in nestings:
        wanted = plain.derivative("F" * len(modes), plain.plain)
        assert wanted != 0.0
        np.testing.assert_allclose(nested.derivative(modes), wanted, rtol=1e-11, err_msg=modes)


def test_it_is_the_derivative_of_what_the_person_gave():
    """Forward mode over a tape, and a tape over a tape, against differences of the replaced gradient."""
    nested, h = Nested(factor=0.25), 1e-6
    ahead, behind = (nested.derivative("R", start=START + sign * h * DIRECTIONS[1]) for sign in (1, -1))
    wanted = (ahead - behind) / (2 * h)
    assert abs(wanted - nested.derivative("FF")) > 0.1
    np.testing.assert_allclose(nested.derivative("RF"), wanted, rtol=1e-8)


def test_values_by_the_person_tangents_by_the_function():
    """A tape over a forward mode: the adjoint of `y` is the replaced one, that of `y.dual` is not."""
    x, y, loss = single("x"), single("y"), single("loss")

    @ti.kernel
    def square():
        y[None] = x[None] ** 2

    @ti.kernel
    def both(value: float, tangent: float):
        loss[None] += value * y[None] + tangent * y.dual[None]

    @ti.ad.grad_replaced
    def replaced():
        square()

    @ti.ad.grad_for(replaced)
    def back():
        x.grad[None] += 100.0 * y.grad[None]
        y.grad[None] = 0.0

    def gradient(value, tangent):
        x[None] = 3.0
        with ti.Tape(loss):
            with ti.ad.FwdMode(loss=y, param=x, seed=2.0):
                replaced()
            both(value, tangent)
        return x.grad[None]

    assert gradient(1.0, 0.0) == 100.0
    assert gradient(0.0, 1.0) == 4.0
    assert gradient(1.0, 1.0) == 104.0


def test_a_function_in_several_steps_that_overwrites():
    """Its own launches overwrite what their tangents read."""
    x, y, loss = single("x"), single("y"), single("loss")

    @ti.kernel
    def start():
        y[None] = x[None]

    @ti.kernel
    def sine():
        y[None] = ti.sin(y[None]) * x[None]

    @ti.kernel
    def take():
        loss[None] += y.dual[None] * y[None]

    @ti.ad.grad_replaced
    def replaced():
        for _ in range(3):
            sine()

    @ti.ad.grad_for(replaced)
    def back():
        x.grad[None] += 0.0 * y.grad[None]
        y.grad[None] = 0.0

    def tangent(at):
        x[None] = at
        with ti.Tape(loss):
            with ti.ad.FwdMode(loss=y, param=x):
                start()
                replaced()
            take()
        return y.dual[None], y[None], x.grad[None]

    h = 1e-6
    (ahead, _, _), (behind, _, _) = tangent(0.8 + h), tangent(0.8 - h)
    dual, value, found = tangent(0.8)
    np.testing.assert_allclose(found, value * (ahead - behind) / (2 * h), rtol=1e-8)
    assert dual != 0.0


def test_tangents_as_values_in_the_function():
    x, y = single("x"), single("y")

    @ti.kernel
    def square():
        y[None] = x[None] ** 2

    @ti.kernel
    def take():
        y[None] += y.dual[None]

    @ti.ad.grad_replaced
    def replaced():
        take()

    ti.ad.grad_for(replaced)(take)

    def run():
        with ti.Tape(y), ti.ad.FwdMode(loss=y, param=x):
            square()
            replaced()

    with pytest.raises(
        ti.GradientError,
        match="`replaced`, under `grad_replaced`, uses tangents inside a forward mode inside a tape",
    ):
        run()


def test_the_tape_afterwards():
    x, y, loss = single("x"), single("y"), single("loss")

    @ti.kernel
    def square():
        y[None] = x[None] ** 2

    @ti.kernel
    def take():
        loss[None] += y.dual[None] + y[None]

    @ti.ad.grad_replaced
    def replaced():
        square()

    ti.ad.grad_for(replaced)(square.grad)
    x[None] = 3.0
    with ti.Tape(loss) as tape:
        with ti.ad.FwdMode(loss=y, param=x):
            replaced()
        take()
    assert x.grad[None] == 8.0
    assert next(c.kernel for c in tape.calls if not c.span) == "replaced"
    tape.backward()
    assert x.grad[None] == 8.0
    assert tape.gradient(y, after=-2) == 1.0
    assert tape.gradients(x).values[0] == 0.0


def test_equations_solved_in_the_function():
    x, u, r, loss = (single(name) for name in ("x", "u", "r", "loss"))

    @ti.kernel
    def residual():
        r[None] = u[None] - 2 * x[None]

    @ti.kernel
    def exact():
        u[None] = 2 * x[None]

    @ti.kernel
    def take():
        loss[None] += u[None] ** 2

    solve = ti.implicit(residual=(residual, r), unknown=u, wrt=x)(exact)
    replaced = ti.ad.grad_replaced(solve)

    @ti.ad.grad_for(replaced)
    def back():
        x.grad[None] += 2 * u.grad[None]
        u.grad[None] = 0.0

    x[None] = 3.0
    with ti.Tape(loss):
        replaced()
        take()
    assert x.grad[None] == 24.0

    def run():
        with ti.Tape(loss), ti.ad.FwdMode(loss=loss, param=x):
            replaced()

    with pytest.raises(ti.GradientError, match="solves equations in `exact`, under `grad_replaced`"):
        run()


def doubled_by_a_person():
    x, y = single("x"), single("y")
    x[None] = 3.0

    @ti.kernel
    def double():
        y[None] += 2 * x[None]

    replaced = ti.ad.grad_replaced(double)
    ti.ad.grad_for(replaced)(double.grad)
    return x, y, replaced


def test_under_no_grad_it_is_constant():
    x, y, replaced = doubled_by_a_person()
    with ti.Tape(y):
        replaced()
        ti.no_grad(replaced)()
    assert (y[None], x.grad[None]) == (12.0, 2.0)


def test_steps_with_checkpoints():
    x, y, replaced = doubled_by_a_person()
    with ti.Tape(y) as tape:
        for _ in tape.steps(range(3)):
            replaced()
    assert x.grad[None] == 6.0

    def run():
        with ti.Tape(y) as tape, ti.ad.FwdMode(loss=y, param=x):
            for _ in tape.steps(range(3)):
                replaced()

    with pytest.raises(ti.GradientError, match="`double` is called in steps with checkpoints, under `grad_"):
        run()
