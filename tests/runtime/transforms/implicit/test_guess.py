"""Equations in which nothing varies: the solution is a constant, whatever the first guess depended on."""

from types import SimpleNamespace

import numpy as np
import pytest

import dsim as ti
from dsim.diagnostics import GradientError
from tests.runtime.transforms.solutions import numbers


def newtons_method(u, p, effort):
    """Newton's method for ``u + u³ = p``, and what it took."""
    r = ti.field(ti.f64, shape=u.shape, name="r")

    @ti.kernel
    def residual():
        for i in u:
            r[i] = u[i] + u[i] ** 3 - p[i]

    @ti.kernel
    def newton():
        for i in u:
            effort[i] += u[i]
            u[i] -= r[i] / (1 + 3 * u[i] ** 2)

    @ti.implicit(residual=(residual, r), unknown=u, wrt=p)
    def solve():
        for _ in range(30):
            residual()
            newton()

    return solve


@pytest.fixture
def guessed():
    """An equation, ``u + u³ = 2``, that is solved from a guess ``w²``."""
    ti.init(default_fp=ti.f64)
    w, u, effort, loss = (*numbers(["w", "u", "effort"], 2), *numbers(["loss"]))
    p = ti.field(ti.f64, shape=2, name="p")
    solve = newtons_method(u, p, effort)

    @ti.kernel
    def guess():
        for i in u:
            u[i] = w[i] ** 2

    @ti.kernel
    def total(x: ti.template()):
        for i in u:
            loss[None] += x[i] * (i + w[i])

    p.fill(2.0)
    w.from_numpy(np.array([0.7, 1.2]))

    def run():
        guess()
        solve()
        total(u)

    def spent():
        guess()
        solve()
        total(effort)

    return SimpleNamespace(w=w, u=u, p=p, loss=loss, solve=solve, total=total, run=run, spent=spent)


def test_a_tape(guessed):
    with ti.Tape(guessed.loss):
        guessed.run()
    assert guessed.u.to_numpy() == pytest.approx([1.0, 1.0])
    assert guessed.w.grad.to_numpy() == pytest.approx([1.0, 1.0])  # u itself, by the factor i + w[i]


def test_the_guess_itself(guessed):
    guessed.u.fill(0.5)
    with ti.Tape(guessed.loss):
        guessed.solve()
        guessed.total(guessed.u)
    assert not guessed.u.grad.to_numpy().any()
    assert not ti.jacobian(guessed.solve, wrt=guessed.u, out=guessed.u).any()


def test_a_tape_that_runs_steps_again(guessed):
    with ti.Tape(guessed.loss) as tape:
        for _ in tape.steps(range(4), slots=2):
            guessed.run()
    assert guessed.w.grad.to_numpy() == pytest.approx([4.0, 4.0])


def test_transforms(guessed):
    of = {"wrt": guessed.w, "out": guessed.loss}
    assert ti.grad(guessed.run, **of)() == pytest.approx([1.0, 1.0])
    assert ti.jvp(guessed.run, **of, tangents=np.array([1.0, 2.0]))[1] == pytest.approx(3.0)
    assert np.abs(ti.hessian(guessed.run, **of)).max() < 1e-12
    by_both = ti.grad(guessed.run, wrt=[guessed.w, guessed.p], out=guessed.loss)()
    assert by_both[guessed.w] == pytest.approx([1.0, 1.0])
    assert by_both[guessed.p] == pytest.approx(np.array([0.7, 2.2]) / 4)  # du/dp = 1 / (1 + 3 u²)


def test_forward_mode(guessed):
    with ti.FwdMode(guessed.loss, guessed.w, seed=[1.0, 2.0]):
        guessed.run()
    assert guessed.loss.dual[None] == pytest.approx(3.0)
    assert not guessed.u.dual.to_numpy().any()


def test_equations_solved_in_a_residual():
    """The guess of the inner equations is an outer unknown; their solution, 1, is none."""
    ti.init(default_fp=ti.f64)
    k, u, r, v, s, one = (*numbers("kurvs"), ti.field(ti.f64, shape=(), name="one"))

    @ti.kernel
    def inner_residual():
        s[None] = v[None] ** 3 - one[None]

    @ti.kernel
    def inner_newton():
        v[None] -= s[None] / (3 * v[None] ** 2)

    @ti.kernel
    def guess():
        v[None] = 1 + 0.1 * u[None]

    @ti.implicit(residual=(inner_residual, s), unknown=v, wrt=one)
    def inner():
        for _ in range(20):
            inner_residual()
            inner_newton()

    @ti.kernel
    def outer_residual():
        r[None] = u[None] * v[None] - k[None]

    def residual():
        guess()
        inner()
        outer_residual()

    @ti.implicit(residual=(residual, r), unknown=u, wrt=k)
    def solve():
        u[None] = k[None]
        residual()

    one[None] = 1.0
    k[None] = 3.0
    assert ti.jvp(solve, wrt=k, out=u, tangents=2.0)[1] == pytest.approx(2.0, rel=1e-12)
    assert ti.grad(solve, wrt=k, out=u)() == pytest.approx(1.0, rel=1e-12)


@pytest.mark.parametrize("transform", [ti.vjp, ti.hessian, ti.jacobian], ids=lambda t: t.__name__)
def test_what_the_function_computed_beside_is_refused(guessed, transform):
    with pytest.raises(GradientError, match="reads `effort`, which `solve` computed beside its unknowns"):
        transform(guessed.spent, wrt=guessed.w, out=guessed.loss)


def test_what_the_function_computed_beside_is_refused_in_forward_mode(guessed):
    forward = ti.FwdMode(guessed.loss, guessed.w, seed=[1.0, 0.0])
    with pytest.raises(GradientError, match="reads `effort`, which `solve` computed beside"), forward:
        guessed.spent()
