"""Objectives and the state around them: what they put back, and what they must not remember."""

import numpy as np
import pytest

import dsim as ti


@pytest.fixture(autouse=True)
def _fresh():
    ti.init(default_fp=ti.f64)


def weighted():
    """A cubic with a weight in a field, and one in an array."""
    x, y, c = ti.field(ti.f64, shape=2), ti.field(ti.f64, shape=()), ti.field(ti.f64, shape=())
    array = np.ones(1)

    @ti.kernel
    def cubic(a: ti.types.ndarray()):
        y[None] = a[0] * c[None] * x[0] ** 3 * x[1]

    @ti.kernel
    def count(a: ti.types.ndarray()):
        a[0] += 1.0

    x.from_numpy([1.0, 2.0])
    c[None] = 1.0
    return x, y, c, array, lambda: cubic(array), lambda: count(array)


def test_products_follow_the_state():
    x, y, c, array, run, _ = weighted()
    f = ti.objective(run, wrt=x, loss=y)
    g = ti.residuals(run, wrt=x, out=y)
    direction = [1.0, 0.0]
    for factor in (1.0, 2.0, 6.0):
        np.testing.assert_allclose(f.hessp(f.x0, direction), factor * np.array([12.0, 3.0]))
        np.testing.assert_allclose(g.jac(f.x0).rmatvec([1.0]), factor * np.array([6.0, 1.0]))
        np.testing.assert_allclose(g(f.x0), factor * 2.0)
        if factor == 1.0:
            c[None] = 2.0
        else:
            array[0] = 3.0


def test_products_at_one_point_share_a_run():
    x, y, _, _, run, _ = weighted()
    runs = []
    f = ti.objective(lambda: [runs.append(0), run()], wrt=x, loss=y)
    for direction in np.eye(2):
        f.hessp(f.x0, direction)
    f(f.x0)
    f.hessp(f.x0, [1.0, 1.0])
    assert len(runs) == 2


@pytest.mark.parametrize("fails", [False, True])
def test_arrays_that_reset_writes_are_put_back(fails):
    x, y, _, array, run, count = weighted()

    def reset():
        count()
        if fails:
            raise ValueError("no")

    f = ti.objective(run, wrt=x, loss=y, reset=reset)
    for _ in range(2):
        if fails:
            with pytest.raises(ValueError, match="no"):
                f(f.x0)
        else:
            assert f(f.x0)[0] == 4.0
            np.testing.assert_allclose(f.hessp(f.x0, [1.0, 0.0]), [24.0, 6.0])
        assert array[0] == 1.0
    g = ti.objective(lambda: [count(), run()], wrt=array, loss=y, reset=count)
    assert g([5.0])[0] == 12.0
    assert array[0] == 1.0


def test_products_with_complex_vectors():
    x, y, _, _, run, _ = weighted()
    J = ti.linearize(run, wrt=x, out=y)
    v = np.array([1.0 + 2.0j, 3.0j])
    row = np.array([[6.0, 1.0]])
    np.testing.assert_allclose(J @ v, row @ v)
    np.testing.assert_allclose(J @ np.stack([v, 2 * v], 1), row @ np.stack([v, 2 * v], 1))
    np.testing.assert_allclose(J.rmatvec([1.0 + 2.0j]), row.T @ [1.0 + 2.0j])
