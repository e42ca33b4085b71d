"""Derivatives of solutions, beside those of the iterations that found them and closed forms."""

import numpy as np
import pytest

import dsim as ti
from tests.runtime.transforms.solutions import numbers, springs


@pytest.fixture(autouse=True)
def _fresh():
    ti.init(default_fp=ti.f64)


def dense(operator, right):
    return np.linalg.solve(operator @ np.eye(4), right)


def in_place(operator, right):
    right[:] = dense(operator, right)
    return right


@pytest.mark.parametrize("solver", ["auto", "direct", "sparse", "gmres", "bicgstab", dense, in_place])
def test_the_gradient_equals_the_unrolled_one(solver):
    s = springs(solver=solver)
    found, expected = (ti.value_and_grad(run, wrt=s.wrt, out=s.loss)() for run in (s.run, s.unrolled))
    assert found[0] == expected[0]
    for f in s.wrt:
        np.testing.assert_allclose(found[1][f], expected[1][f], atol=1e-8)


def test_under_a_tape():
    s = springs()
    with ti.Tape(s.loss):
        s.run()
    found = [f.grad.to_numpy() for f in s.wrt]
    with ti.Tape(s.loss):
        s.unrolled()
    for f, gradient in zip(s.wrt, found, strict=True):
        np.testing.assert_allclose(gradient, f.grad.to_numpy(), atol=1e-8)


@pytest.mark.slow
def test_forward_mode_equals_the_unrolled_one():
    s = springs()
    found, expected = (
        ti.linearize(run, wrt=s.wrt, out=[s.loss, s.u]) @ np.eye(8) for run in (s.run, s.unrolled)
    )
    np.testing.assert_allclose(found, expected, atol=1e-8)


@pytest.mark.slow
def test_memory_does_not_grow_with_iterations():
    saved = []
    for steps in (60, 600):
        s = springs(steps=steps)
        with ti.Tape(s.loss) as tape:
            s.run()
        saved.append(tape.saved_bytes)
    assert saved[0] == saved[1]


@pytest.mark.slow
def test_second_derivatives_in_all_compositions():
    s = springs()
    exact = ti.hessian(s.unrolled, wrt=s.wrt, out=s.loss)
    exact = np.block([[exact[a][b] for b in s.wrt] for a in s.wrt])
    H = ti.hessian(s.run, wrt=s.wrt, out=s.loss)  # forward over reverse
    H = np.block([[H[a][b] for b in s.wrt] for a in s.wrt])
    np.testing.assert_allclose(H, exact, atol=1e-7)
    np.testing.assert_allclose(H, H.T, atol=1e-10)

    def gradient():
        with ti.Tape(s.loss):
            s.run()

    reverse = ti.linearize(gradient, wrt=s.wrt, out=[s.k.grad, s.load.grad])
    np.testing.assert_allclose(reverse.rmatmat(np.eye(8)), H, atol=1e-10)  # reverse over reverse
    direction = np.linspace(-1, 1, 8)

    def tangent():
        with ti.FwdMode(loss=s.loss, param=s.wrt, seed=[direction[:4], direction[4:]]):
            s.run()

    along = ti.linearize(tangent, wrt=s.wrt, out=s.loss.dual)
    np.testing.assert_allclose((along @ np.eye(8))[0], H @ direction, atol=1e-10)  # forward over forward
    np.testing.assert_allclose(along.rmatvec([1.0]), H @ direction, atol=1e-10)  # reverse over forward


@pytest.mark.slow
def test_third_derivatives():
    k, u, r = numbers("kur")

    @ti.kernel
    def equation():
        r[None] = u[None] ** 3 - k[None]

    @ti.implicit(residual=(equation, r), unknown=u, wrt=k)
    def cube_root():
        u[None] = k[None] ** (1 / 3)

    def second():
        with ti.FwdMode(loss=u, param=k, seed=1.0), ti.FwdMode(loss=u, param=k, seed=1.0):
            cube_root()

    k[None] = 8.0
    third = ti.jacobian(second, wrt=k, out=u.dual.dual)
    np.testing.assert_allclose(third, 10 / 27 * 8.0 ** (-8 / 3), rtol=1e-9)


def test_a_solve_in_each_step():
    """Implicit Euler: ``v' = v - dt k v'³``, several steps, one unknown."""
    v, before, k, r, loss = numbers(["v", "before", "k", "r", "loss"])

    @ti.kernel
    def residual():
        r[None] = v[None] - before[None] + 0.1 * k[None] * v[None] ** 3

    @ti.kernel
    def newton():
        v[None] -= r[None] / (1 + 0.3 * k[None] * v[None] ** 2)

    def iterate():
        for _ in range(30):
            residual()
            newton()

    solve = ti.implicit(residual=(residual, r), unknown=v, wrt=[before, k])(iterate)

    @ti.kernel
    def end():
        loss[None] = v[None] ** 2

    def run(solve):
        for _ in range(4):
            before.copy_from(v)
            solve()
        end()

    k[None], v[None] = 2.0, 1.5
    found, expected = (ti.grad(lambda s=s: run(s), wrt=[k, v], out=loss)() for s in (solve, iterate))
    for f in (k, v):
        np.testing.assert_allclose(found[f], expected[f], rtol=1e-9)


@pytest.mark.slow
def test_a_residual_is_computed_again_after_the_solution():
    s = springs()

    @ti.kernel
    def add():
        for i in s.r:
            s.loss[None] += s.r[i] + s.u[i] ** 2

    def run():
        s.solve()
        s.residual()
        add()

    def unrolled():
        s.iterate()
        s.residual()
        add()

    found, expected = (ti.hessian(f, wrt=s.wrt, out=s.loss) for f in (run, unrolled))
    for f in s.wrt:
        for g in s.wrt:
            np.testing.assert_allclose(found[f][g], expected[f][g], rtol=1e-5, atol=1e-6)


def test_a_solver_that_begins_at_the_solution_writes_nothing_and_its_solution_varies():
    k, u, r = numbers("kur")

    @ti.kernel
    def equation():
        r[None] = u[None] ** 3 - k[None]

    @ti.implicit(residual=(equation, r), unknown=u, wrt=k)
    def cube_root():
        if abs(u[None] ** 3 - k[None]) > 1e-12:
            u[None] = k[None] ** (1 / 3)

    k[None], u[None] = 8.0, 2.0
    assert ti.jacobian(cube_root, wrt=k, out=u) == pytest.approx(1 / 12)
    assert ti.grad(cube_root, wrt=k, out=u)() == pytest.approx(1 / 12)


def test_outside_of_contexts_it_is_the_function():
    s = springs()
    s.run()
    value = s.loss[None]
    s.unrolled()
    assert value == s.loss[None]


def test_several_unknowns_and_single_precision():
    a, b, k, r, q, loss = numbers(["a", "b", "k", "r", "q", "loss"], dtype=ti.f32)

    @ti.kernel
    def equations():
        r[None] = a[None] + b[None] - k[None]
        q[None] = a[None] * b[None] - 2.0

    @ti.kernel
    def formula():
        root = ti.sqrt(k[None] ** 2 - 8.0)
        a[None], b[None] = (k[None] + root) / 2, (k[None] - root) / 2

    solve = ti.implicit(residual=(equations, [r, q]), unknown=[a, b], wrt=k)(formula)

    @ti.kernel
    def end():
        loss[None] = a[None] ** 2

    k[None] = 4.0
    gradient = ti.grad(lambda: [solve(), end()], wrt=k, out=loss)()
    assert gradient.dtype == np.float32
    root = np.sqrt(8.0)
    np.testing.assert_allclose(gradient, (4 + root) / 2 * (1 + 4 / root), rtol=1e-5)


def test_a_solver_that_failed_leaves_no_solution():
    k, u, r, loss = (ti.field(ti.f64, shape=()) for _ in range(4))

    @ti.kernel
    def residual():
        r[None] = u[None] ** 3 - k[None]

    @ti.kernel
    def solve():
        u[None] = k[None] ** (1 / 3)

    @ti.kernel
    def measure():
        loss[None] += u[None]

    @ti.implicit(residual=(residual, r), unknown=u, wrt=k)
    def root():
        solve()
        raise RuntimeError("not converged")

    def run():
        with pytest.raises(RuntimeError):
            root()
        measure()

    k[None] = 8.0
    said = "`measure` reads `.*`, which `root` wrote before it failed: its derivative is not known"
    with pytest.raises(ti.GradientError, match=said):
        ti.value_and_grad(run, wrt=k, out=loss)()
    with pytest.raises(ti.GradientError, match=said):
        ti.jvp(run, wrt=k, out=loss, tangents=1.0)


def test_a_solution_under_no_grad_is_constant():
    s = springs()

    @ti.kernel
    def measure():
        for i in s.u:
            s.loss[None] += s.u[i] * s.k[i]

    def run():
        ti.no_grad(s.solve)()
        measure()

    s.iterate()
    u = s.u.to_numpy()
    np.testing.assert_array_equal(ti.grad(run, wrt=s.k, out=s.loss)(), u)
    np.testing.assert_array_equal(ti.jacobian(run, wrt=s.k, out=s.loss), u)


@pytest.mark.slow
def test_a_method():
    u, k, r = (ti.field(ti.f64, shape=(), needs_grad=True) for _ in range(3))

    @ti.kernel
    def equation():
        r[None] = u[None] ** 3 - k[None]

    class Root:
        power = 1 / 3

        @ti.implicit(residual=(equation, r), unknown=u, wrt=k)
        def find(self):
            """The cube root."""
            u[None] = k[None] ** self.power

    k[None] = 8.0
    root = Root()
    with ti.Tape(u):
        root.find()
    assert np.isclose(k.grad[None], 1 / 12)
    assert np.isclose(ti.grad(root.find, wrt=k, out=u)(), 1 / 12)
    assert root.find.__doc__ == "The cube root."
    assert isinstance(Root.find, type(Root.__dict__["find"]))
