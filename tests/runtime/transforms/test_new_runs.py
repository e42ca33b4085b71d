"""Values and products of objectives and residuals at a point that was evaluated before."""

import math
import os
from types import SimpleNamespace

import numpy as np

import dsim as ti


def test_values_are_of_new_runs(monkeypatch):
    """Also after what dsim does not see, such as a variable of the environment."""
    ti.init(default_fp=ti.f64)
    x, r, loss = (ti.field(ti.f64, shape=n) for n in (2, 2, ()))

    @ti.kernel
    def differences(k: ti.f64):
        for i in x:
            r[i] = k * x[i] ** 2

    @ti.kernel
    def energy(k: ti.f64):
        for i in x:
            loss[None] += k * x[i] ** 2

    x.fill(1.0)
    F = ti.residuals(lambda: differences(float(os.environ["STIFFNESS"])), wrt=x, out=r)
    f = ti.objective(lambda: energy(float(os.environ["STIFFNESS"])), wrt=x, loss=loss)
    for k in (1.0, 3.0):
        monkeypatch.setenv("STIFFNESS", str(k))
        assert F(F.x0).tolist() == [k, k]
        np.testing.assert_array_equal(F.jac(F.x0) @ np.eye(2), 2 * k * np.eye(2))
        assert f(f.x0)[0] == 2 * k
        assert f.hessp(f.x0, [1.0, 0.0]).tolist() == [2 * k, 0.0]


def test_a_function_that_took_the_place_of_another_one_is_followed_after_a_value():
    ti.init(default_fp=ti.f64)
    x, r, loss = (ti.field(ti.f64, shape=n) for n in (2, 2, ()))
    first, second = {"k": 1.0}, {"k": 2.0}
    laws = SimpleNamespace(law=lambda: first["k"])

    @ti.kernel
    def squares(k: ti.f64):
        for i in x:
            r[i] = k * x[i] ** 2

    @ti.kernel
    def energy(k: ti.f64):
        for i in x:
            loss[None] += k * x[i] ** 2

    x.fill(1.0)
    F = ti.residuals(lambda: squares(laws.law()), wrt=x, out=r)
    f = ti.objective(lambda: energy(laws.law()), wrt=x, loss=loss)

    def products():
        return (F.jac(F.x0) @ [1.0, 0.0]).tolist(), f.hessp(f.x0, [1.0, 0.0]).tolist()

    assert products() == ([2.0, 0.0], [2.0, 0.0])
    laws.law = lambda: second["k"]
    assert (F(F.x0).tolist(), f(f.x0)[0]) == ([2.0, 2.0], 4.0)
    assert products() == ([4.0, 0.0], [4.0, 0.0])
    second["k"] = 3.0
    assert products() == ([6.0, 0.0], [6.0, 0.0])


def test_products_follow_the_sign_of_a_zero():
    ti.init(default_fp=ti.f64)
    x, c, loss = ti.field(ti.f64, shape=1), ti.field(ti.f64, shape=()), ti.field(ti.f64, shape=())

    @ti.kernel
    def energy(k: ti.f64):
        loss[None] += k * x[0] ** 2

    f = ti.objective(lambda: energy(math.copysign(1.0, c[None])), wrt=x, loss=loss)
    assert f.hessp([1.0], [1.0]).tolist() == [2.0]
    c[None] = -0.0
    assert f.hessp([1.0], [1.0]).tolist() == [-2.0]
