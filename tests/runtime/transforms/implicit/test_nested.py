"""Functions under `implicit` in one another's residuals, and one after the other, to third order."""

import itertools
from types import SimpleNamespace

import numpy as np
import pytest

import dsim as ti
from dsim.diagnostics import GradientError
from tests.runtime.transforms.solutions import numbers

pytestmark = pytest.mark.slow

# The loss is v² + k v, with 8 v³ = k + v: in one another, u³ = k + v and v = u / 2.
V = float(next(root.real for root in np.roots([8, 0, -1, -8]) if abs(root.imag) < 1e-12))
P = 24 * V**2 - 1
FIRST = 1 / P
SECOND = -48 * V / P**3
THIRD = -48 / P**4 + 144 * V * 48 * V / P**5
DERIVATIVES = (
    2 * V * FIRST + V + 8 * FIRST,
    2 * FIRST**2 + 2 * V * SECOND + 2 * FIRST + 8 * SECOND,
    6 * FIRST * SECOND + 2 * V * THIRD + 3 * SECOND + 8 * THIRD,
)


def solved_inside(k, u, v, by_kernels):
    """``u³ = k + v``, solved by a kernel or by Python."""
    (r,) = numbers(["r"])

    @ti.kernel
    def equation():
        r[None] = u[None] ** 3 - k[None] - v[None]

    @ti.kernel
    def root():
        u[None] = (k[None] + v[None]) ** (1 / 3)

    def by_hand():
        u[None] = (k[None] + v[None]) ** (1 / 3)

    return ti.implicit(residual=(equation, r), unknown=u, wrt=[k, v])(root if by_kernels else by_hand)


def nested(by_kernels=False):
    """The inner equation is solved in the residual of the outer one, and in its solver."""
    k, u, v, q, loss = numbers(["k", "u", "v", "q", "loss"])
    inner = solved_inside(k, u, v, by_kernels)

    @ti.kernel
    def difference():
        q[None] = v[None] - u[None] / 2

    @ti.kernel
    def half():
        v[None] = u[None] / 2

    def residual():
        inner()
        difference()

    @ti.implicit(residual=(residual, q), unknown=v, wrt=k)
    def outer():
        for _ in range(40):
            inner()
            half()

    @ti.kernel
    def measure():
        loss[None] = v[None] ** 2 + k[None] * v[None]

    def run():
        outer()
        measure()

    k[None] = 8.0
    return SimpleNamespace(
        k=k, u=u, v=v, q=q, loss=loss, run=run, outer=outer, inner=inner, residual=residual, measure=measure
    )


@pytest.fixture(autouse=True)
def _fresh():
    ti.init(default_fp=ti.f64)


@pytest.mark.parametrize("by_kernels", [False, True])
def test_first_derivatives(by_kernels):
    p = nested(by_kernels)
    assert ti.grad(p.run, wrt=p.k, out=p.loss)() == pytest.approx(DERIVATIVES[0], rel=1e-9)
    assert ti.jacobian(p.run, wrt=p.k, out=p.loss) == pytest.approx(DERIVATIVES[0], rel=1e-9)


def modes(p, kinds):
    """The derivative by nested contexts, the first kind outermost: forward or reverse."""
    run, out = p.run, p.loss

    def reverse(run, out):
        def recorded():
            with ti.Tape(out):
                run()

        return recorded, p.k.grad

    def forward(run, out):
        def carried():
            with ti.FwdMode(loss=out if out is p.loss else None, param=p.k, seed=1.0):
                run()

        return carried, out.scratch((*out.derivative, "dot"))

    for kind in reversed(kinds[1:]):
        run, out = (forward if kind == "f" else reverse)(run, out)
    J = ti.linearize(run, wrt=p.k, out=out)
    return (J.matvec if kinds[0] == "f" else J.rmatvec)([1.0])[0]


@pytest.mark.parametrize("by_kernels", [False, True])
@pytest.mark.parametrize("kinds", ["ff", "fr", "rf", "rr"])
def test_second_derivatives(kinds, by_kernels):
    assert modes(nested(by_kernels), kinds) == pytest.approx(DERIVATIVES[1], rel=1e-9)


def test_second_derivatives_by_hessian():
    p = nested()
    assert ti.hessian(p.run, wrt=p.k, out=p.loss) == pytest.approx(DERIVATIVES[1], rel=1e-9)
    assert ti.hvp(p.run, wrt=p.k, out=p.loss, tangents=2.0) == pytest.approx(2 * DERIVATIVES[1], rel=1e-9)


@pytest.mark.parametrize("by_kernels", [False, True])
@pytest.mark.parametrize("kinds", ["ffr", "rfr"])
def test_third_derivatives(kinds, by_kernels):
    assert modes(nested(by_kernels), kinds) == pytest.approx(DERIVATIVES[2], rel=1e-8)


def copied(p, backwards):
    """The derivative by the innermost context as a field of its own, for a tape around it."""
    k, loss = p.k, p.loss
    (first,) = numbers(["first"])
    slope = k.grad if backwards else loss.scratch((*loss.derivative, "dot"))

    @ti.kernel
    def copy():
        first[None] = slope[None]

    def run():
        with ti.Tape(first):
            with ti.Tape(loss) if backwards else ti.FwdMode(loss=loss, param=k, seed=1.0):
                p.run()
            copy()

    return run


@pytest.mark.parametrize("product", ["matvec", "rmatvec"])
@pytest.mark.parametrize("backwards", [False, True])
def test_third_derivatives_with_a_tape_around_a_tape_or_forward_mode(backwards, product):
    """Backwards, tapes restore what a solver computed beside its unknowns: nothing depends on that."""
    p = nested()
    J = ti.linearize(copied(p, backwards), wrt=p.k, out=p.k.grad)
    assert getattr(J, product)([1.0])[0] == pytest.approx(DERIVATIVES[2], rel=1e-8)


@pytest.mark.parametrize("between", ["nothing", "what it reads"])
@pytest.mark.parametrize("product", ["matvec", "rmatvec"])
@pytest.mark.parametrize("backwards", [False, True])
def test_third_derivatives_of_one_solution_after_the_other(backwards, product, between):
    """``u³ = k`` is solved twice; in between k may become ``k u``: the loss is a power of k."""
    k, u, r, loss = numbers(["k", "u", "r", "loss"])

    @ti.kernel
    def cube():
        r[None] = u[None] ** 3 - k[None]

    @ti.implicit(residual=(cube, r), unknown=u, wrt=k)
    def solve():
        u[None] = k[None] ** (1 / 3)

    @ti.kernel
    def follow():
        k[None] = k[None] * u[None]

    @ti.kernel
    def measure():
        loss[None] = u[None] ** 2

    def run():
        solve()
        if between != "nothing":
            follow()
        solve()
        measure()

    k[None] = 2.0
    p = SimpleNamespace(k=k, loss=loss, run=run)
    power = 2 / 3 if between == "nothing" else 8 / 9
    third = power * (power - 1) * (power - 2) * 2.0 ** (power - 3)
    J = ti.linearize(copied(p, backwards), wrt=k, out=k.grad)
    assert getattr(J, product)([1.0])[0] == pytest.approx(third, rel=1e-8)


@pytest.mark.parametrize("kinds", ["".join(k) for k in itertools.product("fr", repeat=2)])
def test_one_after_the_other(kinds):
    """``u³ = k``, then ``v² = u k``: the loss ``v² + u`` is ``k^(4/3) + k^(1/3)``."""
    k, u, r, v, q, loss = numbers(["k", "u", "r", "v", "q", "loss"])

    @ti.kernel
    def cube():
        r[None] = u[None] ** 3 - k[None]

    @ti.kernel
    def square():
        q[None] = v[None] ** 2 - u[None] * k[None]

    @ti.implicit(residual=(cube, r), unknown=u, wrt=k)
    def first():
        u[None] = k[None] ** (1 / 3)

    @ti.implicit(residual=(square, q), unknown=v, wrt=[u, k])
    def second():
        v[None] = (u[None] * k[None]) ** 0.5

    @ti.kernel
    def measure():
        loss[None] = v[None] ** 2 + u[None]

    def run():
        first()
        second()
        measure()

    k[None] = 8.0
    exact = 4 / 9 * 8 ** (-2 / 3) - 2 / 9 * 8 ** (-5 / 3)
    assert modes(SimpleNamespace(k=k, loss=loss, run=run), kinds) == pytest.approx(exact, rel=1e-9)


def test_what_the_inner_residual_reads_may_be_overwritten():
    p = nested()
    p.u.fill(0.0)
    with ti.Tape(p.loss):
        p.run()
        p.k[None] = 100.0
        p.v[None] = 50.0
    assert p.k.grad[None] == pytest.approx(DERIVATIVES[0], rel=1e-9)


def test_what_varies_in_the_inner_equation_must_be_named_by_the_outer_one():
    p = nested()
    (other,) = numbers(["other"])
    outer = ti.implicit(residual=(p.residual, p.q), unknown=p.v, wrt=other)(p.outer.function)
    message = "the residual of `outer` reads `k`, which varies and is not in `wrt=`"
    with pytest.raises(GradientError, match=message), ti.Tape(p.loss):
        outer()
    with pytest.raises(GradientError, match=message):
        ti.jacobian(lambda: [outer(), p.measure()], wrt=p.k, out=p.loss)


@pytest.mark.parametrize("derivative", [1, 2])
def test_the_outer_equation_may_read_some_of_the_inner_unknowns(derivative):
    """``a = k / 2`` and ``b = k / 3``, then ``w + w³ = a k``: the loss is ``w²``."""
    k, a, b, ra, rb, w, q, loss = numbers(["k", "a", "b", "ra", "rb", "w", "q", "loss"])

    @ti.kernel
    def shares():
        ra[None] = 2 * a[None] - k[None]
        rb[None] = 3 * b[None] - k[None]

    @ti.implicit(residual=(shares, [ra, rb]), unknown=[a, b], wrt=k)
    def inner():
        a[None], b[None] = k[None] / 2, k[None] / 3

    @ti.kernel
    def cubic():
        q[None] = w[None] + w[None] ** 3 - a[None] * k[None]

    def residual():
        inner()
        cubic()

    @ti.implicit(residual=(residual, q), unknown=w, wrt=k)
    def outer():
        w[None] = 1.0  # solves the equation for k = 2

    @ti.kernel
    def measure():
        loss[None] += w[None] ** 2

    def run():
        outer()
        measure()

    k[None] = 2.0
    if derivative == 1:
        with ti.Tape(loss):
            run()
        assert k.grad[None] == pytest.approx(2 * 1 / 2)  # 2 w w', with w' = k / (1 + 3 w²)
    else:
        slope, curvature = 1 / 2, (1 - 6 / 4) / 4  # w'' = (1 - 6 w w'²) / (1 + 3 w²)
        expected = 2 * slope**2 + 2 * curvature
        assert ti.hessian(run, wrt=k, out=loss) == pytest.approx(expected)
