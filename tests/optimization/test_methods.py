"""Methods against closed forms."""

import numpy as np
import pytest
from scipy.optimize import minimize

import dsim as ds
from dsim.diagnostics import GradientError
from dsim.optimization.first_order import RULES
from dsim.optimization.scipy_methods import BOUNDED, NAMES
from tests.optimization.programs import quadratic, rosenbrock


@pytest.fixture(autouse=True)
def _fresh():
    ds.init(default_fp=ds.f64)


def trajectory(**given):
    x, y, run = quadratic()
    seen = [x.to_numpy()]
    ds.optimize(
        run, wrt=x, loss=y, progress=False, callback=lambda o: seen.append(o.track.point.x.copy()), **given
    )
    return np.array(seen)


def test_descent_shrinks_each_number_by_its_own_factor():
    seen = trajectory(method="descent", rate=0.1, steps=20)
    factors = 1 - 0.1 * np.array([1.0, 2.0, 3.0])
    np.testing.assert_allclose(seen, factors ** np.arange(21)[:, None], rtol=1e-12)


def test_momentum_follows_its_recurrence_with_constant_coefficients():
    """Heavy ball: x[k+1] = (1 + m - rate * w) x[k] - m x[k-1], solved by powers of the two roots."""
    rate, m = 0.1, 0.5
    seen = trajectory(method="momentum", rate=rate, momentum=m, steps=20)
    for n, weight in enumerate((1.0, 2.0, 3.0)):
        roots = np.roots([1, -(1 + m - rate * weight), m]).astype(complex)
        weights = np.linalg.solve(np.vander(roots, 2, increasing=True).T, [1.0, 1 - rate * weight])
        exact = (weights * roots ** np.arange(21)[:, None]).sum(1).real
        np.testing.assert_allclose(seen[:, n], exact, rtol=1e-9, atol=1e-12)


def test_adam_moves_by_the_rate_where_the_gradient_is_constant():
    x, y = ds.field(ds.f64, shape=2), ds.field(ds.f64, shape=())

    @ds.kernel
    def run():
        y[None] = 3.0 * x[0] - 0.01 * x[1]

    ds.optimize(run, wrt=x, loss=y, method="adam", rate=0.1, epsilon=1e-300, steps=7, progress=False)
    np.testing.assert_allclose(x.to_numpy(), [-0.7, 0.7], rtol=1e-12)


def test_adam_has_the_paper_s_averages():
    """The averages of algorithm 1 as sums over all gradients."""
    rate, b1, b2 = 0.05, 0.8, 0.9
    seen = trajectory(method="Adam", rate=rate, beta1=b1, beta2=b2, steps=12)
    gradients = seen * [1.0, 2.0, 3.0]
    for t in range(1, 13):
        ages = np.arange(t)[::-1, None]
        mean = ((1 - b1) * b1**ages * gradients[:t]).sum(0) / (1 - b1**t)
        square = ((1 - b2) * b2**ages * gradients[:t] ** 2).sum(0) / (1 - b2**t)
        expected = seen[t - 1] - rate * mean / (np.sqrt(square) + 1e-8)
        np.testing.assert_allclose(seen[t], expected, rtol=1e-12)


@pytest.mark.parametrize("method", NAMES)
def test_rosenbrock(method):
    x, y, run = rosenbrock()
    found = ds.optimize(run, wrt=x, loss=y, method=method, steps=200, progress=False)
    assert found.status == "finished"
    np.testing.assert_allclose(x.to_numpy(), 1.0, atol=1e-2)
    np.testing.assert_array_equal(found.best.parameters, x.to_numpy())
    assert y[None] == 0


@pytest.mark.parametrize("method", ["L-BFGS-B", "CG"])
def test_scipy_s_steps_are_scipy_s(method):
    x, y, run = rosenbrock()
    f = ds.objective(run, wrt=x, loss=y)
    expected = minimize(f, f.x0, jac=True, method=method)
    found = ds.optimize(run, wrt=x, loss=y, method=method, progress=False)
    np.testing.assert_array_equal(found.best.parameters, expected.x)
    assert found.done == expected.nit
    assert found.message == expected.message


@pytest.mark.parametrize("method", [*BOUNDED, *RULES])
def test_active_bounds(method):
    """The least value of the quadratic function within the bounds is at the nearest corner."""
    x, y, run = quadratic(2)
    rate = {"rate": 0.1} if method in RULES else {}
    bounds = (np.array([0.5, -2.0]), np.array([2.0, 2.0]))
    found = ds.optimize(
        run, wrt=x, loss=y, method=method, bounds=bounds, steps=300, tolerance=1e-8, progress=False, **rate
    )
    np.testing.assert_allclose(x.to_numpy(), [0.5, 0.0], atol=1e-3)
    assert (x.to_numpy() >= bounds[0]).all()
    np.testing.assert_allclose(found.best.loss, 0.125, rtol=2e-3)


def test_numbers_that_are_not_free_keep_their_values():
    x, y, run = quadratic()
    free = np.array([True, False, True])
    ds.optimize(run, wrt=x, loss=y, free=free, progress=False)
    assert x[1] == 1.0
    np.testing.assert_allclose(x.to_numpy()[free], 0.0, atol=1e-4)


def test_several_fields_and_arrays():
    a, y = np.ones(2), ds.field(ds.f64, shape=())
    b = ds.field(ds.f32, shape=2)

    @ds.kernel
    def kernel(a: ds.types.ndarray(ds.f64, 1)):
        for i in b:
            y[None] += (a[i] - 3) ** 2 + (b[i] + 2) ** 2

    found = ds.optimize(lambda: kernel(a), wrt=[a, b], loss=y, progress=False)
    np.testing.assert_allclose(a, 3.0, atol=1e-4)
    np.testing.assert_allclose(b.to_numpy(), -2.0, atol=1e-4)
    np.testing.assert_array_equal(found.best.parameters[a], a)


def test_the_history():
    x, y, run = quadratic(1)
    history = ds.optimize(run, wrt=x, loss=y, method="descent", rate=0.5, steps=3, progress=False).history
    np.testing.assert_array_equal(history["step"], [0, 1, 2, 3])
    np.testing.assert_allclose(history["loss"], 0.5 * 0.25 ** np.arange(4))
    np.testing.assert_allclose(history["gradient_norm"], 0.5 ** np.arange(4))
    np.testing.assert_allclose(history["length"], [0, 0.5, 0.25, 0.125])
    assert (np.diff(history["seconds"]) >= 0).all()


def test_the_best_point_is_not_the_last_one():
    x, y, run = quadratic(1)
    found = ds.optimize(run, wrt=x, loss=y, method="descent", rate=2.5, steps=3, progress=False)
    assert x[0] == 1.0
    assert found.best.loss == 0.5
    assert found.history["loss"][-1] > 1


def test_tolerance_ends_first_order_methods():
    x, y, run = quadratic(1)
    found = ds.optimize(
        run, wrt=x, loss=y, method="descent", rate=0.5, tolerance=0.1, steps=50, progress=False
    )
    assert (found.done, found.status) == (4, "finished")
    assert found.message == "the gradient is within the tolerance, 0.1"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"method": "newton"}, r"names no method: `newton`\n.*one of L-BFGS-B"),
        ({"method": 3}, "names no method"),
        ({"method": "CG", "bounds": (0, 1)}, "the method CG takes no bounds"),
        ({"method": "Adam", "gtol": 1}, "the method Adam has no option `gtol`"),
        ({"rate": 0.1}, "the method L-BFGS-B has no option `rate`"),
        ({"method": "CG", "beta1": 0.8}, "the method CG has no option `beta1`"),
        ({"method": "Adam", "rate": 0.0}, "`rate=` is a number above 0, got 0.0"),
        ({"method": "momentum", "momentum": 1.0}, "`momentum=` is a number from 0 to below 1"),
        ({"maxiter": 3}, r"`maxiter` is not an option of L-BFGS-B here"),
        ({"tol": 1e-9}, r"`tol` is not an option of L-BFGS-B here\n.*\n.*\n.*`tolerance=`"),
        ({"ftoll": 1e-9}, r"the method L-BFGS-B has no option `ftoll`\n.*\n.*\n.*show_options"),
        ({"method": "SLSQP", "gtol": 1e-9}, "the method SLSQP has no option `gtol`"),
        ({"method": "trust-constr", "ftol": 1e-9}, "the method trust-constr has no option `ftol`"),
        ({"jac": 3}, "the method L-BFGS-B has no option `jac`"),
        ({"gtol": "a"}, "the method L-BFGS-B does not take these options: must be real number, not str"),
        ({"steps": 0}, "`steps=` is a whole number above 0, got 0"),
        ({"steps": 2.5}, "`steps=` is a whole number"),
        ({"tolerance": -1}, "`tolerance=` is a number from 0"),
        ({"bounds": (2, 3)}, r"begins outside its bounds: 1 is not in \[2, 3\]"),
        ({"bounds": (2, 0)}, "a lower bound above the upper one"),
        ({"bounds": ("a", 1)}, "`bounds=` takes numbers, not 'a'"),
        ({"free": False}, "leaves no number"),
        ({"callback": 3}, "`callback=` is a function"),
        ({"view": 3}, r"`view=` has an `update\(\)`"),
        ({"path": 3}, "`path=` is the name of a file"),
        ({"path": "nowhere/best.npz"}, "there is no folder `nowhere`"),
        ({"path": "."}, "`path=` is the name of a file, and `.` is a folder"),
    ],
)
def test_arguments_that_do_not_fit(given, message):
    x, y, run = quadratic()
    with pytest.raises(GradientError, match=f"(?s){message}"):
        ds.optimize(run, wrt=x, loss=y, progress=False, **given)


def test_integers_are_refused():
    x, y = ds.field(ds.i32, shape=2, name="x"), ds.field(ds.f64, shape=())
    with pytest.raises(GradientError, match="needs floats, `x` holds i32"):
        ds.optimize(lambda: None, wrt=x, loss=y)
