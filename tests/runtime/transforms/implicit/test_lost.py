"""What a function under `implicit` computes itself, and equations that depend on it: refused, or constant."""

import numpy as np
import pytest

import dsim as ti
from dsim.diagnostics import GradientError


def forward(run, x, loss):
    with ti.FwdMode(loss, x):
        run()


MODES = {
    "gradient": lambda run, x, loss: ti.grad(run, wrt=x, out=loss)(),
    "tangent": lambda run, x, loss: ti.jvp(run, wrt=x, out=loss, tangents=1.0),
    "forward mode": forward,
}


class Cubic:
    """``u³ + u = c``, where the function that solves it, or another one, sets ``c = g²``."""

    def __init__(self, wrt, sets=True):
        ti.init(default_fp=ti.f64)
        c, g, k, u, r, loss = (ti.field(ti.f64, shape=(), name=name) for name in "cgkurl")
        self.g, self.k, self.loss = g, k, loss

        @ti.kernel
        def set_c():
            c[None] = g[None] ** 2

        @ti.kernel
        def equation():
            r[None] = u[None] ** 3 + u[None] - c[None] * k[None]

        @ti.kernel
        def newton():
            u[None] -= r[None] / (3 * u[None] ** 2 + 1)

        @ti.kernel
        def measure():
            loss[None] = u[None] + g[None]

        def iterate():
            if sets:
                set_c()
            for _ in range(30):
                equation()
                newton()

        self.solve = ti.implicit(residual=(equation, r), unknown=u, wrt=wrt(c, k))(iterate)
        self.set_c, self.measure, self.equation = set_c, measure, equation
        self.c, self.u, self.r = c, u, r
        g[None], k[None] = 2**0.5, 1.0

    def run(self):
        self.solve()
        self.measure()


def sets_c_beside(p):
    """A function that solves ``v = g`` and sets `c` beside its unknown, and that unknown."""
    v, s = (ti.field(ti.f64, shape=(), name=name) for name in "vs")

    @ti.kernel
    def other_equation():
        s[None] = v[None] - p.g[None]

    @ti.implicit(residual=(other_equation, s), unknown=v, wrt=p.g)
    def before():
        p.set_c()
        v[None] = p.g[None]

    return before, v


@pytest.mark.parametrize("mode", MODES)
def test_a_field_of_wrt_that_the_function_computes_from_what_varies(mode):
    p = Cubic(lambda c, k: [c, k])
    with pytest.raises(GradientError, match="`iterate` writes to `c`, which is in `wrt=`"):
        MODES[mode](p.run, p.g, p.loss)


@pytest.mark.parametrize("mode", MODES)
def test_a_field_that_the_residual_reads_and_the_function_computes_from_what_varies(mode):
    p = Cubic(lambda c, k: k)
    with pytest.raises(GradientError, match="the residual of `iterate` reads `c`, which varies"):
        MODES[mode](p.run, p.g, p.loss)


@pytest.mark.parametrize("mode", MODES)
def test_a_residual_that_reads_what_another_function_computed_beside_its_unknowns(mode):
    p = Cubic(lambda c, k: [c, k], sets=False)
    before, _ = sets_c_beside(p)
    with pytest.raises(GradientError, match="`before` computed `c` beside its unknowns"):
        MODES[mode](lambda: [before(), p.run()], p.g, p.loss)


def test_what_the_function_computes_from_constants_is_constant():
    p = Cubic(lambda c, k: k)
    u = 1.0  # u³ + u = 2
    assert ti.grad(p.run, wrt=p.k, out=p.loss)() == pytest.approx(2 / (3 * u**2 + 1), rel=1e-12)
    value, change = ti.jvp(p.run, wrt=p.k, out=p.loss, tangents=1.0)
    assert (value, change) == pytest.approx((1 + np.sqrt(2), 0.5), rel=1e-12)


@pytest.mark.parametrize("reads_first", [False, True])
def test_what_python_writes_after_it_has_read_what_varies(reads_first):
    """A number of Python's may be made of what it has read: from `g`, by way of `t`."""
    p = Cubic(lambda c, k: k, sets=False)
    t = ti.field(ti.f64, shape=(), name="t")

    @ti.kernel
    def double():
        t[None] = 2 * p.g[None]

    inner = p.solve.function

    def iterate():
        double()
        if not reads_first:
            p.c[None] = 2.0
        known = t[None]
        if reads_first:
            p.c[None] = known**2 / 4
        inner()

    p.solve = ti.implicit(residual=(p.equation, p.r), unknown=p.u, wrt=p.k)(iterate)
    if reads_first:
        with pytest.raises(GradientError, match="the residual of `iterate` reads `c`, which varies"):
            ti.grad(p.run, wrt=p.g, out=p.loss)()
    else:
        assert ti.grad(p.run, wrt=p.g, out=p.loss)() == 1.0  # by `measure` alone


@pytest.mark.parametrize("mode", ["gradient", "forward mode"])
def test_a_read_of_what_the_function_computed_beside_its_unknowns_is_told(mode):
    p = Cubic(lambda c, k: [c, k], sets=False)
    before, v = sets_c_beside(p)

    @ti.kernel
    def total(known: float):
        p.loss[None] = known + v[None]

    with pytest.warns(ti.GradientWarning, match="`c` is read into Python"):
        MODES[mode](lambda: [before(), total(p.c[None])], p.g, p.loss)


def _fails(function):
    """Calls it; it fails, and the program goes on."""
    with pytest.raises(ValueError, match="stopped"):
        function()


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("by", ["kernel", "copy"])
def test_a_launch_that_was_right_before_the_function_failed(mode, by):
    """The second one of the same kernel reads what the function, or a copy of it, has left."""
    p = Cubic(lambda c, k: [c, k])
    inner, (w, end) = p.solve.function, (ti.field(ti.f64, shape=(), name=name) for name in "we")

    @ti.kernel
    def add():
        end[None] += w[None]

    @ti.kernel
    def look():
        w[None] = p.u[None]

    def iterate():
        inner()
        raise ValueError("stopped")

    fails = ti.implicit(residual=(p.equation, p.r), unknown=p.u, wrt=[p.c, p.k])(iterate)

    def run():
        p.set_c()
        look()
        _fails(fails)
        if by == "kernel":
            look()
        else:
            add()
            w.copy_from(p.u)
            add()
        p.measure()

    message = "`(look|add)` reads `[uw]`, which `iterate` wrote before it failed"
    with pytest.raises(GradientError, match=message):
        MODES[mode](run, p.g, p.loss)
