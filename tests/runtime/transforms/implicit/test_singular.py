"""Where a Jacobian takes a direction to 0, solutions have no derivative: all modes and solvers refuse."""

import numpy as np
import pytest
from scipy.sparse import csr_array

import dsim as ti
from dsim.runtime.transforms import factorised
from tests.runtime.transforms.solutions import numbers

SOLVERS = ["auto", "direct", "sparse", "gmres", "cg", "bicgstab", lambda a, b: np.linalg.pinv(a.dense()) @ b]


def forward_mode(run, k, y):
    with ti.ad.FwdMode(loss=y, param=k, seed=np.ones(k.shape)):
        run()


FORWARD = {
    "jvp": lambda run, k, y: ti.jvp(run, wrt=k, out=y, tangents=np.ones(k.shape)),
    "matvec": lambda run, k, y: ti.linearize(run, wrt=k, out=y).matvec(np.ones(k.to_numpy().size)),
    "jacobian": lambda run, k, y: ti.jacobian(run, wrt=k, out=y),
    "FwdMode": forward_mode,
}


@pytest.fixture(autouse=True)
def _fresh():
    ti.init(default_fp=ti.f64)


def double_root(solver):
    """``(u - k)² = 0``: the derivative of u is 1, and none of the equation."""
    k, u, r, y = numbers("kury")

    @ti.kernel
    def equation():
        r[None] = (u[None] - k[None]) ** 2

    @ti.kernel
    def measure():
        y[None] = 3 * u[None]

    solve = ti.implicit(residual=(equation, r), unknown=u, wrt=k, solver=solver)(
        lambda: u.from_numpy(k.to_numpy())
    )
    k[None] = 1.0
    return lambda: [solve(), measure()], k, y


def redundant(solver):
    """The same equation three times, but for factors: any point of a line solves it."""
    k, u, r = (ti.field(ti.f64, shape=shape, needs_grad=True) for shape in ((), 2, 2))
    y = ti.field(ti.f64, shape=(), needs_grad=True)

    @ti.kernel
    def equation():
        s = 0.1 * u[0] + 0.3 * u[1] - k[None]
        r[0] = s
        r[1] = 3 * s

    @ti.kernel
    def measure():
        y[None] = u[0] ** 2 + 3 * u[1]

    def point():
        u.from_numpy(np.array([1.0, (k[None] - 0.1) / 0.3]))

    solve = ti.implicit(residual=(equation, r), unknown=u, wrt=k, solver=solver)(point)
    k[None] = 1.0
    return lambda: [solve(), measure()], k, y


@pytest.mark.parametrize("how", FORWARD)
@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("make", [double_root, redundant])
def test_forward_mode_refuses_what_solvers_solve(make, solver, how):
    run, k, y = make(solver)
    with pytest.raises(ti.GradientError, match="the linear equations for the derivative of"):
        FORWARD[how](run, k, y)


@pytest.mark.parametrize("make", [double_root, redundant])
def test_so_does_reverse_mode(make):
    run, k, y = make("auto")
    with pytest.raises(ti.GradientError, match="were not solved"):
        ti.grad(run, wrt=k, out=y)()


def test_a_residual_that_python_computes():
    k, u, r = numbers("kur")
    k[None] = 2.0

    def residual():
        r[None] = u[None] ** 3 - k[None]

    solve = ti.implicit(residual=(residual, r), unknown=u, wrt=k)(lambda: u.fill(2.0 ** (1 / 3)))
    with pytest.raises(ti.GradientError, match="are 0, as where no kernel computes it from that"):
        ti.grad(solve, wrt=k, out=u)()


@pytest.mark.parametrize("solver", ["direct", "sparse"])
def test_a_number_of_the_residual_that_does_not_vary_is_named(solver):
    k, u, r = (ti.field(ti.f64, shape=3, needs_grad=True) for _ in range(3))

    @ti.kernel
    def residual():
        for i in u:
            r[i] = 0.0 if i == 1 else u[i] - k[i]

    solve = ti.implicit(residual=(residual, r), unknown=u, wrt=k, solver=solver)(lambda: u.copy_from(k))
    with pytest.raises(ti.GradientError, match="of the residual's number 1 by the unknown are 0"):
        ti.jacobian(solve, wrt=k, out=u)


@pytest.mark.parametrize("solver", ["auto", "direct", "sparse"])
def test_equations_in_very_different_units_have_their_derivatives(solver):
    k, u, r = (ti.field(ti.f64, shape=4, needs_grad=True) for _ in range(3))
    units = np.array([1e-9, 1.0, 1e7, 1e-3])
    of_equations, of_unknowns = (ti.field(ti.f64, shape=4) for _ in range(2))
    of_equations.from_numpy(units)
    of_unknowns.from_numpy(units[::-1].copy())

    @ti.kernel
    def residual():
        for i in u:
            r[i] = of_equations[i] * (
                2 * of_unknowns[i] * u[i] + of_unknowns[(i + 1) % 4] * u[(i + 1) % 4] - k[i]
            )

    matrix = 2 * np.diag(units[::-1]) + np.diag(units[::-1][1:], 1)
    matrix[3, 0] = units[::-1][0]
    k.fill(1.0)
    solve = ti.implicit(residual=(residual, r), unknown=u, wrt=k, solver=solver)(
        lambda: u.from_numpy(np.linalg.solve(matrix, k.to_numpy()))
    )
    np.testing.assert_allclose(ti.jacobian(solve, wrt=k, out=u), np.linalg.inv(matrix), rtol=1e-8)


@pytest.mark.parametrize("make", [factorised.dense, lambda matrix: factorised.sparse(csr_array(matrix))])
@pytest.mark.parametrize("wrong", [np.nan, np.inf])
def test_what_is_not_finite_is_no_matrix(make, wrong):
    matrix = 2 * np.eye(3)
    matrix[1, 2] = wrong
    with pytest.raises(factorised.SingularError, match="infs or NaNs"):
        make(matrix)


@pytest.mark.parametrize("n", [3, 5, 40, 150])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_singular_matrices_are_told_from_others(n, dtype):
    draw, eps = np.random.default_rng(n), np.finfo(dtype).eps
    matrix = draw.normal(size=(n, n))
    matrix[:, 0] = matrix[:, 1:] @ draw.normal(size=n - 1)
    assert factorised.dense(matrix.astype(dtype).astype(np.float64)).reciprocal < eps
    hilbert = 1 / (1 + np.add.outer(np.arange(4), np.arange(4)))
    chain = 2 * np.eye(n) - np.eye(n, k=1) - np.eye(n, k=-1)
    for fine, exact in [(hilbert, 1 / 28375), (chain, 1 / np.linalg.cond(chain, 1))]:
        found = factorised.dense(fine)
        assert eps < exact < 2 * found.reciprocal
        right = draw.normal(size=len(fine))
        for transposed, of in ((False, fine), (True, fine.T)):
            np.testing.assert_allclose(found.solve(right, transposed), np.linalg.solve(of, right), rtol=1e-6)
