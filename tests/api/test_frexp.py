"""`frexp` against NumPy's."""

import numpy as np
import pytest

import dsim as ti

FLOATS = {"f16": ti.f16, "f32": ti.f32, "f64": ti.f64}


@pytest.mark.parametrize(
    ("backend", "fast"),
    [("cpu", True), ("cpu", False), ("reference", True)],
    ids=["fast", "exact", "reference"],
)
@pytest.mark.parametrize("name", FLOATS)
def test_every_kind_of_number(name, backend, fast):
    from dataclasses import replace

    from dsim.runtime.state import settings

    ti.init(default_fp=FLOATS[name], fast_math=fast)
    settings.change(replace(settings.current(), backend=backend))
    limits = np.finfo(name.replace("f", "float"))
    given = np.array(
        [1.0, -1.0, 0.0, 0.75, 10.0, -10.0, 0.1, 1e-3, 4.0, 3.9999, limits.max, limits.min, limits.tiny,
         limits.smallest_subnormal, -7 * limits.smallest_subnormal, np.inf, -np.inf, np.nan],
        limits.dtype,
    )  # fmt: skip
    n = len(given)
    x, m = ti.field(FLOATS[name], n), ti.field(FLOATS[name], n)
    power = ti.field(ti.i32, n)
    x.from_numpy(given)

    @ti.kernel
    def run():
        for i in x:
            fraction, exponent = ti.frexp(x[i])
            m[i] = fraction
            power[i] = exponent

    run()
    if fast and backend == "cpu" and name != "f16":  # whose arithmetic is that of f32
        given[np.abs(given) < limits.tiny] = 0.0
    fraction, exponent = np.frexp(given)
    exponent[~np.isfinite(given)] = 0  # of these NumPy's depends on the machine
    np.testing.assert_array_equal(m.to_numpy(), fraction)
    np.testing.assert_array_equal(power.to_numpy(), exponent)


def test_of_vectors_and_outside_of_kernels():
    ti.init(default_fp=ti.f64)

    @ti.kernel
    def run() -> tuple[ti.math.vec2, ti.math.ivec2]:
        return ti.frexp(ti.Vector([10.0, -0.1]))

    (m, e), (m2, e2) = run(), ti.frexp(ti.Vector([10.0, -0.1]))
    assert [*m] == [*m2] == [0.625, -0.8]
    assert [*e] == [*e2] == [4, -3]
    assert ti.frexp(10.0) == (0.625, 4)


def test_the_derivative_of_the_fraction_is_the_power():
    ti.init(default_fp=ti.f64)
    x, y = ti.field(ti.f64, 4, needs_grad=True), ti.field(ti.f64, (), needs_grad=True)
    x.from_numpy(np.array([10.0, -0.1, 0.0, -0.0]))

    @ti.kernel
    def run():
        for i in x:
            m, _ = ti.frexp(x[i])
            y[None] += m

    with ti.ad.Tape(y):
        run()
    expected = [2.0**-4, 2.0**3, 1.0, 1.0]
    np.testing.assert_array_equal(x.grad.to_numpy(), expected)
    for n, slope in enumerate(expected):
        with ti.ad.FwdMode(y, x, seed=np.eye(4)[n]):
            run()
        assert y.dual[None] == slope
