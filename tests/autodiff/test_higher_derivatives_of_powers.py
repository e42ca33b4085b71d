"""Second and third derivatives of powers whose exponent is exactly 0, or a small integer."""

import math

import numpy as np
import pytest

import dsim as ds

POINTS = [(2.0, 0.0), (2.0, 1.0), (2.0, 2.0), (0.5, 0.0), (1.0, 0.0), (1.0, 1.0), (3.0, -1.0)]


def closed_form(a, b):
    """The Hessian of ``a ** b``, and its derivatives by `a, a, b` and by `a, b, b`."""
    log, z = math.log(a), a**b
    mixed = z / a * (1 + b * log)
    hessian = [[b * (b - 1) * z / a**2, mixed], [mixed, z * log**2]]
    return hessian, z / a**2 * (2 * b - 1 + b * (b - 1) * log), z / a * (2 * log + b * log**2)


@pytest.fixture
def power():
    ds.init(default_fp=ds.f64)
    x, loss = ds.field(ds.f64, 2, needs_grad=True), ds.field(ds.f64, (), needs_grad=True)

    @ds.kernel
    def run():
        loss[None] = x[0] ** x[1]

    return run, x, loss


@pytest.mark.parametrize(("a", "b"), POINTS)
def test_the_hessian(power, a, b):
    run, x, loss = power
    x.from_numpy(np.array([a, b]))
    expected = closed_form(a, b)[0]
    np.testing.assert_allclose(ds.hessian(run, wrt=x, out=loss), expected, rtol=1e-12, atol=1e-14)
    for n in range(2):
        found = []
        for outer in (0, 1):
            with (
                ds.ad.FwdMode(loss, x, seed=np.eye(2)[n]),
                ds.ad.FwdMode(loss, x, seed=np.eye(2)[outer]),
            ):
                run()
            found.append(loss.dual.dual[None])
        np.testing.assert_allclose(found, expected[n], rtol=1e-12, atol=1e-14)


@ds.func
def power_of(a, b):
    return a**b


@ds.func
def by_a(a, b):
    return ds.forward(power_of)(a, b, 1.0, 0.0)


@ds.func
def by_a_twice(a, b):
    return ds.grad(by_a)(a, b)[0]


@ds.kernel
def third(a: float, b: float) -> ds.types.vector(2, float):
    by_aab = ds.grad(by_a_twice)(a, b)[1]
    by_abb = ds.forward(ds.forward(lambda u: by_a(a, u)))(b)
    return ds.Vector([by_aab, by_abb])


@pytest.mark.parametrize(("a", "b"), POINTS)
def test_third_derivatives(a, b):
    ds.init(default_fp=ds.f64)
    np.testing.assert_allclose(third(a, b).to_numpy(), closed_form(a, b)[1:], rtol=1e-12, atol=1e-14)
