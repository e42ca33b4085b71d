"""The readable Python form of kernels can replace machine code everywhere."""

from dataclasses import replace

import numpy as np
import pytest

import dsim as ti
from dsim.runtime.state import settings


@pytest.fixture(autouse=True)
def _by_reference():
    ti.init(default_fp=ti.f64)
    settings.change(replace(settings.current(), backend="reference"))


def test_launches_tapes_and_forward_mode():
    x, y = ti.field(ti.f64, shape=3, needs_grad=True), ti.field(ti.f64, shape=(), needs_grad=True)

    @ti.kernel
    def squares(scale: float) -> ti.i32:
        for i in x:
            y[None] += scale * x[i] ** 2
        return 7

    x.from_numpy(np.array([1.0, 2.0, 3.0]))
    with ti.Tape(y):
        assert squares(2.0) == 7
    assert y[None] == 28.0
    assert x.grad.to_numpy().tolist() == [4.0, 8.0, 12.0]
    with ti.ad.FwdMode(loss=y, param=x, seed=[1.0, 0.0, 1.0]):
        squares(2.0)
    assert y.dual[None] == 16.0


def test_faults():
    x = ti.field(ti.f64, shape=3)

    @ti.kernel
    def read(i: ti.i32) -> float:
        assert i < 10, "too far"
        return x[i]

    with pytest.raises(ti.BoundsError, match=r"index 5 is outside `x` of shape \(3,\)"):
        read(5)
    with pytest.raises(ti.KernelAssertionError, match="an assertion failed: too far"):
        read(10)
