"""Objectives and residuals, driven by SciPy's optimisers and solvers."""

import numpy as np
import pytest
from scipy.optimize import least_squares, minimize, root
from scipy.sparse.linalg import eigsh, lsmr

import dsim as ti
from dsim.diagnostics import GradientError
from tests.runtime.transforms.programs import oscillators


@pytest.fixture(autouse=True)
def _fresh():
    ti.init(default_fp=ti.f64)


def rosenbrock(n=6, dtype=ti.f64):
    x, y = ti.field(dtype, shape=n, name="x"), ti.field(dtype, shape=(), name="y")

    @ti.kernel
    def run():
        for i in range(n - 1):
            y[None] += 100 * (x[i + 1] - x[i] ** 2) ** 2 + (1 - x[i]) ** 2

    return x, y, run


@pytest.mark.parametrize("method", ["L-BFGS-B", "Newton-CG", "trust-krylov"])
def test_minimize(method):
    x, y, run = rosenbrock()
    f = ti.objective(run, wrt=x, loss=y)
    second = {} if method == "L-BFGS-B" else {"hessp": f.hessp}
    found = minimize(f, np.full(6, 0.5), jac=True, method=method, **second)
    np.testing.assert_allclose(found.x, 1.0, atol=1e-3)
    assert not x.to_numpy().any()
    f.put(found.x)
    np.testing.assert_array_equal(x.to_numpy(), found.x)


def test_the_state_is_put_back_before_each_evaluation():
    o = oscillators()
    f = ti.objective(o.run, wrt=o.k, loss=o.energy)
    x = f.x0
    first = f(x)
    f(x + 1)
    again = f(x)
    assert first[0] == again[0]
    np.testing.assert_array_equal(first[1], again[1])


def test_reset_prepares_the_state_and_not_the_inputs():
    x, y, s = (ti.field(ti.f64, shape=(), name=n) for n in "xys")

    @ti.kernel
    def reset():
        s[None] = 3.0
        x[None] = 100.0

    @ti.kernel
    def run():
        s[None] *= x[None]
        y[None] = s[None] ** 2

    s[None] = x[None] = 17.0
    f = ti.objective(run, wrt=x, loss=y, reset=reset)
    value, gradient = f([2.0])
    assert (value, gradient.tolist()) == (36.0, [36.0])
    np.testing.assert_allclose(f.hessp([2.0], [1.0]), [18.0])
    assert (s[None], x[None], y[None]) == (17.0, 17.0, 0.0)


def test_bounds_and_masks():
    x, y, run = rosenbrock()
    x.fill(0.5)
    free = np.array([True, False, True, True, True, True])
    f = ti.objective(run, wrt=x, loss=y, bounds=(None, 0.8), free=free)
    assert f.x0.shape == (5,)
    found = minimize(f, f.x0, jac=True, bounds=f.bounds, method="L-BFGS-B")
    f.put(found.x)
    assert x[1] == 0.5
    assert x.to_numpy().max() <= 0.8
    whole = ti.hessian(run, wrt=x, out=y)[free][:, free]
    np.testing.assert_allclose(f.hessian(f.x0) @ np.eye(5), whole, atol=1e-9)
    sparse = f.hessian(f.x0, sparse=True)
    np.testing.assert_allclose(sparse.toarray(), whole, atol=1e-9)
    assert sparse.nnz < 5 * 5


def test_several_fields_of_several_types():
    a = ti.Vector.field(2, ti.f32, shape=2, name="a")
    b, y = ti.field(ti.f64, shape=3, name="b"), ti.field(ti.f64, shape=(), name="y")

    @ti.kernel
    def run():
        for i in a:
            y[None] += a[i].norm_sqr()
        for i in b:
            y[None] += (b[i] - i) ** 2

    f = ti.objective(run, wrt=[a, b], loss=y, bounds={b: (0.5, [1.0, 2.0, 1.5])})
    x0 = f.x0
    assert x0.dtype == np.float64
    assert x0.shape == (7,)
    found = minimize(f, np.ones(7), jac=True, bounds=f.bounds)
    np.testing.assert_allclose(found.x, [0, 0, 0, 0, 0.5, 1.0, 1.5], atol=1e-5)


def test_least_squares_and_root():
    x, r = ti.field(ti.f64, shape=2, name="x"), ti.field(ti.f64, shape=2, name="r")

    @ti.kernel
    def circle_and_line():
        r[0] = x[0] ** 2 + x[1] ** 2 - 2.0
        r[1] = x[0] - x[1]

    x.from_numpy([2.0, 0.5])
    f = ti.residuals(circle_and_line, wrt=x, out=r)
    fitted = least_squares(f, f.x0, jac=f.jac, tr_solver="lsmr")
    solved = root(f, f.x0, jac=lambda x: f.jac(x) @ np.eye(2))
    for found in (fitted, solved):
        np.testing.assert_allclose(found.x, [1.0, 1.0], atol=1e-6)
    np.testing.assert_allclose(f.jac(f.x0, sparse=True).toarray(), f.jac(f.x0) @ np.eye(2))
    step = lsmr(f.jac(f.x0), -f(f.x0))[0]
    np.testing.assert_allclose(f.jac(f.x0) @ step, -f(f.x0), atol=1e-6)


@pytest.mark.slow
def test_eigenvalues_of_a_hessian():
    o = oscillators()
    f = ti.objective(o.run, wrt=o.k, loss=o.energy)
    H = f.hessian(f.x0)
    largest = eigsh(H, k=1, return_eigenvectors=False)
    expected = np.linalg.eigvalsh(ti.hessian(o.run, wrt=o.k, out=o.energy))
    np.testing.assert_allclose(largest, expected[np.argmax(abs(expected))], rtol=1e-8)


def test_numpy_arrays():
    @ti.kernel
    def energy(a: ti.types.ndarray(), y: ti.types.ndarray()):
        for i in range(3):
            y[0] += (a[i] - i) ** 2

    a, y = np.zeros(3), np.zeros(1)
    f = ti.objective(lambda: energy(a, y), wrt=a, loss=y)
    found = minimize(f, f.x0, jac=True, hessp=f.hessp, method="Newton-CG")
    np.testing.assert_allclose(found.x, [0, 1, 2], atol=1e-6)
    assert not a.any()
    f.put(found.x)
    np.testing.assert_array_equal(a, found.x)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"bounds": 3.0}, "pairs of a lower and an upper bound, got float"),
        ({"bounds": (2.0, 1.0)}, "has a lower bound above the upper one"),
        ({"bounds": (np.nan, 1.0)}, "`bounds=` has a bound that is nan"),
        (
            {"bounds": (np.zeros(2), None)},
            r"`bounds=` has a value of shape \(2,\) for numbers of shape \(6,\)",
        ),
        ({"free": np.ones(3)}, r"`free=` has a value of shape \(3,\)"),
        ({"free": {"x": True}}, "`free=` has a field that `wrt=` does not name"),
    ],
)
def test_wrong_options(options, message):
    x, y, run = rosenbrock()
    with pytest.raises(GradientError, match=message):
        ti.objective(run, wrt=x, loss=y, **options)


def test_a_vector_of_another_length():
    x, y, run = rosenbrock()
    with pytest.raises(GradientError, match=r"the vector must be of shape \(6,\), got \(5,\)"):
        ti.objective(run, wrt=x, loss=y)(np.zeros(5))


def test_an_objective_is_one_number():
    x, _, run = rosenbrock()
    with pytest.raises(GradientError, match="`loss=` has 6"):
        ti.objective(run, wrt=x, loss=x)


def test_what_it_is_printed_as():
    x, y, run = rosenbrock()
    assert repr(ti.objective(run, wrt=x, loss=y)) == "<objective of run: 6 numbers of `x`>"
    some = ti.residuals(run, wrt=[x], out=y, free={x: np.arange(6) > 1})
    assert repr(some) == "<residuals of run: 4 numbers of `x`>"
