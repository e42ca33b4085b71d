"""A manual gradient evaluates indices that no run of the primal has checked."""

from __future__ import annotations

import numpy as np
import pytest

import dsim as ti

N = 4


def test_an_index_that_went_bad_is_an_error_with_the_persons_line():
    x = ti.field(ti.f64, shape=N, needs_grad=True)
    loss = ti.field(ti.f64, shape=(), needs_grad=True)
    order = ti.field(ti.i32, shape=N)

    @ti.kernel
    def gather():
        for i in order:
            loss[None] += x[order[i]] ** 2

    x.fill(3.0)
    gather()
    loss.grad[None] = 1.0
    gather.grad()
    np.testing.assert_array_equal(x.grad.to_numpy(), [24, 0, 0, 0])
    order.fill(10**8)
    with pytest.raises(ti.BoundsError, match=r"index 100000000 is outside `x` of shape \(4,\)") as e:
        gather.grad()
    assert "loss[None] += x[order[i]] ** 2" in str(e.value)


def test_an_argument_that_went_bad():
    x = ti.field(ti.f64, shape=N, needs_grad=True)
    loss = ti.field(ti.f64, shape=(), needs_grad=True)

    @ti.kernel
    def take(t: ti.i32):
        loss[None] += x[t] ** 2

    x.fill(3.0)
    loss.grad[None] = 1.0
    take(1)
    take.grad(1)
    assert x.grad[1] == 6
    with pytest.raises(ti.BoundsError, match="index -5 is outside `x`"):
        take.grad(-5)
