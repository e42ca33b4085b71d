"""Kernels that a tape splits into parts: values passed between parts do not cause another split."""

import numpy as np
import pytest

import dsim as ti
from tests.runtime.taping import single

pytestmark = pytest.mark.filterwarnings("ignore:warning.serial:dsim.DsimWarning")


@pytest.fixture(autouse=True)
def _fresh():
    ti.init(default_fp=ti.f64)


def test_a_loop_that_loses_its_own_values_behind_a_local():
    x, loss, c = ti.field(ti.f64, shape=3, needs_grad=True), single("loss"), ti.field(ti.i32, shape=())
    x.from_numpy(np.array([0.1, 0.2, 0.3]))
    c[None] = 2

    @ti.kernel
    def run():
        a = 0.3 * (c[None] % 5)
        for i in x:
            x[i] = ti.cos(a * x[i])
            x[0] = ti.sin(x[0] * x[1])
        loss[None] += x[0]

    def value(start):
        x.from_numpy(start)
        loss[None] = 0.0
        run()
        return loss[None]

    start = np.array([0.1, 0.2, 0.3])
    step = 1e-6 * np.eye(3)
    wanted = [(value(start + h) - value(start - h)) / 2e-6 for h in step]
    x.from_numpy(start)
    with ti.ad.Tape(loss):
        run()
    np.testing.assert_allclose(x.grad.to_numpy(), wanted, rtol=1e-7, atol=1e-9)
