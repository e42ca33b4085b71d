"""Second derivatives at regular points where an argument, or a part of a rule, is 0, 1 or a whole number.

A rule that selects by the value of an argument has the derivatives of what it selects, not those of the
function.
"""

import numpy as np
import pytest

import dsim as ds

ON_AXES = [(0.0, 1.0), (1.0, 0.0), (1.0, 1.0), (-1.0, 1.0)]
CASES = {
    "product": (lambda a, b: a * b, [(0.0, 0.0), *ON_AXES]),
    "quotient": (lambda a, b: a / b, [(0.0, 1.0), (0.0, -2.0), (1.0, 1.0)]),
    "quotient of quotients": (lambda a, b: (a * b) / (1.0 + b) / (2.0 + a), ON_AXES),
    "remainder": (lambda a, b: (a % b) * b, [(1.0, 2.0), (-1.0, 2.0), (0.5, 1.0)]),
    "angle": (ds.atan2, [*ON_AXES, (1.0, -1.0)]),
    "length": (ds.hypot, ON_AXES),
    "norm": (lambda a, b: ds.Vector([a, b]).norm(), ON_AXES),
    "direction": (lambda a, b: ds.Vector([a, b]).normalized()[0], ON_AXES),
    "power": (lambda a, b: a**b, [(2.0, 0.0), (2.0, 1.0), (1.0, 0.0), (1.0, 1.0), (2.0, 2.0)]),
    "power of a difference": (lambda a, b: a ** (2 * b - 4), [(2.0, 2.0), (3.0, 2.5)]),
    "complex power": (lambda a, b: ds.math.cpow(ds.Vector([a, 1.0]), b)[0], [(0.0, 0.0), (1.0, 0.0)]),
    "greatest": (lambda a, b: ds.max(a, b) ** 2 * a, [(0.0, 1.0), (1.0, 0.0)]),
    "choice": (lambda a, b: ds.select(a > b, a * b, a - b), [(0.0, 1.0), (1.0, 0.0)]),
    "root": (lambda a, b: ds.sqrt(a * b + 1.0), [(0.0, 0.0), (0.0, 1.0)]),
    "logarithm": (lambda a, b: ds.log1p(a * b), [(0.0, 0.0), (0.0, 1.0)]),
}


@pytest.mark.parametrize(("name", "at"), [(name, at) for name, (_, points) in CASES.items() for at in points])
def test_both_orders_agree_with_differences(name, at):
    ds.init(default_fp=ds.f64)
    f = CASES[name][0]
    x, loss = ds.field(ds.f64, 2, needs_grad=True), ds.field(ds.f64, (), needs_grad=True)
    x.from_numpy(np.array(at))

    @ds.kernel
    def run():
        loss[None] = f(x[0], x[1])

    hessian = ds.hessian(run, wrt=x, out=loss)
    np.testing.assert_allclose(hessian, hessian.T, rtol=1e-12, atol=1e-12)
    assert ds.check_grad(run, wrt=x, loss=loss, order=2)
