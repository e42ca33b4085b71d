"""Linear equations of `implicit` that a solver does not solve at once, and solutions that are none."""

import warnings
from collections import Counter

import numpy as np
import pytest
from scipy.sparse.linalg import gmres, splu

import dsim as ti
from dsim.runtime.transforms import factorised, linear_solves
from tests.runtime.transforms.solutions import numbers

TRANSFORMS = {
    "jacobian": lambda run, k, u: ti.jacobian(run, wrt=k, out=u),
    "vjp": lambda run, k, u: ti.vjp(run, wrt=k, out=u)[1](1.0),
    "jvp": lambda run, k, u: ti.jvp(run, wrt=k, out=u, tangents=1.0)[1],
    "linearize": lambda run, k, u: ti.linearize(run, wrt=k, out=u).matvec(np.ones(1))[0],
    "grad": lambda run, k, u: ti.grad(run, wrt=k, out=u)(),
}


def cyclic(solver, dtype, c):
    """``(2 + i / 10) u_i + c u_{i+1} = k_i``: the run, what it is differentiated by, and the Jacobian."""
    u, k, r = (ti.field(dtype, shape=4, needs_grad=True) for _ in range(3))
    matrix = np.diag(2 + np.arange(4) / 10) + c * np.roll(np.eye(4), 1, axis=1)

    @ti.kernel
    def residual():
        for i in range(4):
            r[i] = (2 + ti.cast(i, dtype) / 10) * u[i] + c * u[(i + 1) % 4] - k[i]

    k.fill(1.0)
    solution = np.linalg.solve(matrix, np.ones(4))
    run = ti.implicit(residual=(residual, r), unknown=u, wrt=k, solver=solver)(lambda: u.from_numpy(solution))
    return run, k, u, np.linalg.inv(matrix)


@pytest.mark.parametrize("c", [0.003, 0.03, 0.1, 0.3])
@pytest.mark.parametrize("dtype", [ti.f32, ti.f64], ids=str)
def test_bicgstab_breaks_down_for_unit_vectors(dtype, c):
    ti.init(default_fp=dtype)
    run, k, u, inverse = cyclic("bicgstab", dtype, c)
    tolerance = 1e-5 if dtype == ti.f32 else 1e-10
    np.testing.assert_allclose(ti.jacobian(run, wrt=k, out=u), inverse, atol=tolerance)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [ti.f32, ti.f64], ids=str)
def test_a_solver_of_the_users_that_is_not_exact_is_refined_or_refused(dtype):
    ti.init(default_fp=dtype)

    def wrong_by(factor):
        return lambda operator, right: factor * np.linalg.solve(operator.dense().astype(float), right)

    run, k, u, inverse = cyclic(wrong_by(1.2), dtype, 0.3)
    np.testing.assert_allclose(ti.jacobian(run, wrt=k, out=u), inverse, atol=1e-4)
    run, k, u, _ = cyclic(wrong_by(1.7), dtype, 0.3)
    with pytest.raises(ti.GradientError, match=r"not solved by the solver: it left a relative residual of 7"):
        ti.jacobian(run, wrt=k, out=u)


@pytest.mark.parametrize("how", TRANSFORMS)
@pytest.mark.parametrize(("dtype", "at"), [(ti.f64, 1.2), (ti.f32, 1.01)], ids=str)
def test_a_function_that_stops_early_gets_a_warning_from_every_transform(how, dtype, at):
    ti.init(default_fp=dtype)
    k, u, r = numbers("kur") if dtype == ti.f64 else (ti.field(dtype, (), needs_grad=True) for _ in range(3))

    @ti.kernel
    def residual():
        r[None] = u[None] ** 3 - k[None]

    @ti.implicit(residual=(residual, r), unknown=u, wrt=k)
    def root():
        u[None] = at

    k[None] = 1.0
    with pytest.warns(ti.GradientWarning, match="stopped before its residual was 0") as heard:
        np.testing.assert_allclose(TRANSFORMS[how](root, k, u), 1 / (3 * at**2), rtol=1e-5)
    assert len(heard) == 1


@pytest.mark.parametrize("solver", ["direct", "gmres"])
@pytest.mark.parametrize("at", [0.0, 1e-3], ids=["from 0", "by a third"])
def test_each_unknown_has_units_of_its_own(solver, at):
    """The strain is far from a solution, by little beside the pressure."""
    ti.init(default_fp=ti.f64)
    pressure, strain, load, r, s = numbers(("pressure", "strain", "load", "r", "s"))

    @ti.kernel
    def residual():
        r[None] = pressure[None] - 1e5
        s[None] = strain[None] + 1e6 * strain[None] ** 3 - load[None]

    @ti.implicit(residual=(residual, [r, s]), unknown=[pressure, strain], wrt=load, solver=solver)
    def solve():
        pressure[None], strain[None] = 1e5, at

    load[None] = 5e-3
    told = r"next step would change `strain` " + ("by 7.5e-01 of its size" if at else "from 0")
    with pytest.warns(ti.GradientWarning, match=told):
        ti.grad(solve, wrt=load, out=strain)()


def test_an_unknown_that_is_0_but_for_rounding_is_solved():
    ti.init(default_fp=ti.f64)
    n = 8
    u, v, k, r, s = (ti.field(ti.f64, shape=n, needs_grad=True) for _ in range(5))

    @ti.kernel
    def residual():
        for i in u:
            r[i] = u[i] - k[i]
            s[i] = v[i] + u[i] - u[n - 1 - i]

    @ti.implicit(residual=(residual, [r, s]), unknown=[u, v], wrt=k)
    def solve():
        u.from_numpy(k.to_numpy())
        v.from_numpy(1e-9 * np.cos(np.arange(n)))

    k.from_numpy(1.0 + np.minimum(np.arange(n), np.arange(n)[::-1]))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        jacobian = ti.jacobian(solve, wrt=k, out=v)
    np.testing.assert_allclose(jacobian, np.eye(n)[::-1] - np.eye(n), atol=1e-15)


@pytest.mark.slow
@pytest.mark.parametrize("far", [10.0, 0.0], ids=["near a diagonal", "Laplacian"])
def test_auto_factorises_the_sparse_matrix_where_gmres_does_not_converge(far, monkeypatch):
    ti.init(default_fp=ti.f64)
    n = 450
    u, k, r = (ti.field(ti.f64, shape=n, needs_grad=True) for _ in range(3))
    matrix = (2 + far) * np.eye(n) - np.eye(n, k=1) - np.eye(n, k=-1)

    @ti.kernel
    def residual():
        for i in u:
            r[i] = (2 + far) * u[i] - k[i]
            if i > 0:
                r[i] -= u[i - 1]
            if i < n - 1:
                r[i] -= u[i + 1]

    @ti.implicit(residual=(residual, r), unknown=u, wrt=k)
    def solve():
        u.from_numpy(np.linalg.solve(matrix, k.to_numpy()))

    counts = Counter()
    monkeypatch.setattr(factorised, "splu", lambda a: counts.update(["splu"]) or splu(a))
    counted = lambda *a, **named: counts.update(["gmres"]) or gmres(*a, **named)  # noqa: E731
    monkeypatch.setitem(linear_solves._ITERATIVE, "gmres", counted)
    k.fill(1.0)
    u_bar = np.cos(np.arange(n))
    _, pull = ti.vjp(solve, wrt=k, out=u)
    for factor in (1.0, 2.0):
        np.testing.assert_allclose(pull(factor * u_bar), np.linalg.solve(matrix, factor * u_bar), rtol=1e-6)
    if far:
        assert not counts["splu"]
    else:
        assert counts == {"gmres": 1, "splu": 2}  # the second time it is known that GMRES stalls
