"""`grad_replaced`, `grad_for` and `no_grad`: functions with custom gradients."""

import numpy as np
import pytest

import dsim as ti


@pytest.fixture(autouse=True)
def _fresh():
    ti.init()


def _fields(n):
    x, total = ti.field(ti.f32), ti.field(ti.f32)
    ti.root.dense(ti.i, n).place(x)
    ti.root.place(total)
    ti.root.lazy_grad()
    return x, total


def test_one_gradient_stands_for_two_launches():
    n = 128
    x, total = _fields(n)

    @ti.kernel
    def add_up(mul: ti.f32):
        for i in range(n):
            ti.atomic_add(total[None], x[i] * mul)

    @ti.ad.grad_replaced
    def ahead(mul):
        add_up(mul)
        add_up(mul)

    @ti.ad.grad_for(ahead)
    def back(mul):
        add_up.grad(mul)

    x.fill(0.25)
    with ti.Tape(loss=total):
        ahead(4)
    assert total[None] == 2 * 4 * 0.25 * n
    assert x.grad.to_numpy().tolist() == [4.0] * n


def test_without_a_gradient_of_its_own_both_launches_count():
    n = 4
    x, total = _fields(n)

    @ti.kernel
    def add_up(mul: ti.f32):
        for i in range(n):
            ti.atomic_add(total[None], x[i] * mul)

    with ti.Tape(loss=total):
        add_up(4)
        add_up(4)
    assert x.grad.to_numpy().tolist() == [8.0] * n


def test_no_grad_cuts():
    n = 3
    x, total = _fields(n)
    x.from_numpy(np.array([1.0, 2.0, 3.0], np.float32))

    @ti.kernel
    def add_up(mul: ti.f32):
        for i in range(n):
            total[None] += x[i] * mul

    @ti.ad.no_grad
    def uncounted():
        add_up(100.0)

    with ti.Tape(loss=total):
        add_up(2.0)
        uncounted()
    assert total[None] == 612.0
    assert x.grad.to_numpy().tolist() == [2.0, 2.0, 2.0]


def test_recomputation_inside_a_gradient():
    """What checkpointing by hand does: the middle is not kept, the gradient makes it again."""
    n = 4
    x = ti.field(ti.f32, shape=n, needs_grad=True)
    middle = ti.field(ti.f32, shape=n, needs_grad=True)
    total = ti.field(ti.f32, shape=(), needs_grad=True)
    values = np.array([0.5, -1.0, 2.0, 1.5], np.float32)
    x.from_numpy(values)

    @ti.kernel
    def square():
        for i in x:
            middle[i] = x[i] ** 2

    @ti.kernel
    def collect():
        for i in x:
            total[None] += middle[i] ** 2

    @ti.ad.grad_replaced
    def both():
        square()
        collect()
        middle.fill(0)

    @ti.ad.grad_for(both)
    def back():
        square()
        middle.grad.fill(0)
        collect.grad()
        square.grad()

    with ti.Tape(loss=total):
        both()
    np.testing.assert_allclose(x.grad.to_numpy(), 4 * values**3, rtol=1e-6)
