"""Functions with custom gradients on NumPy arrays, which are restored as fields are."""

import numpy as np
import pytest

import dsim as ti


@pytest.fixture(autouse=True)
def _fresh():
    ti.init(default_fp=ti.f64)


class Scaled:
    """``y += sum(x * a)``, with ``a`` an array, and a gradient that a person wrote."""

    def __init__(self):
        self.x = x = ti.field(ti.f64, shape=3, needs_grad=True)
        self.y = y = ti.field(ti.f64, shape=(), needs_grad=True)
        self.seen = []

        @ti.kernel
        def forward(a: ti.types.ndarray()):
            for i in x:
                y[None] += x[i] * a[i]

        @ti.kernel
        def backward(a: ti.types.ndarray()):
            for i in x:
                x.grad[i] += a[i] * y.grad[None]

        @ti.ad.grad_replaced
        def run(a):
            forward(a)

        @ti.ad.grad_for(run)
        def _(a):
            self.seen.append(a.tolist())
            backward(a)

        self.run = run


def test_an_array_that_python_changes_afterwards():
    s, a = Scaled(), np.array([1.0, 2.0, 3.0])
    with ti.ad.Tape(s.y):
        s.run(a)
        a[:] = 100.0
    assert s.x.grad.to_numpy().tolist() == [1.0, 2.0, 3.0]
    assert s.seen == [[1.0, 2.0, 3.0]]
    assert a.tolist() == [100.0] * 3


def test_an_array_that_changes_between_two_calls():
    s, a = Scaled(), np.array([1.0, 2.0, 3.0])

    @ti.kernel
    def double(a: ti.types.ndarray()):
        for i in a:
            a[i] *= 2.0

    with ti.ad.Tape(s.y):
        s.run(a)
        a[0] = 5.0
        s.run(a)
        double(a)
        s.run(a)
        double(a)
    assert s.seen == [[10.0, 4.0, 6.0], [5.0, 2.0, 3.0], [1.0, 2.0, 3.0]]
    assert s.x.grad.to_numpy().tolist() == [16.0, 8.0, 12.0]
    assert a.tolist() == [20.0, 8.0, 12.0]


@pytest.mark.filterwarnings("ignore::dsim.GradientWarning")  # an array has no tangent for Python
def test_inside_of_forward_mode():
    s, a = Scaled(), np.array([1.0, 2.0, 3.0])
    t = ti.field(ti.f64, shape=(), needs_grad=True)
    t[None] = 2.0

    @ti.kernel
    def fill(a: ti.types.ndarray()):
        for i in a:
            a[i] = t[None] * (i + 1)

    with ti.ad.FwdMode(loss=s.y, param=t):
        fill(a)
        with ti.ad.Tape(s.y):
            s.run(a)
            fill_again(a)
    assert s.x.grad.to_numpy().tolist() == [2.0, 4.0, 6.0]
    assert s.x.grad.dual.to_numpy().tolist() == [1.0, 2.0, 3.0]
    assert a.tolist() == [7.0] * 3


@ti.kernel
def fill_again(a: ti.types.ndarray()):
    for i in a:
        a[i] = 7.0


def test_a_gradient_that_writes_an_array():
    s, a, out = Scaled(), np.ones(3), np.zeros(3)
    x, y = s.x, s.y

    @ti.kernel
    def collect(a: ti.types.ndarray(), out: ti.types.ndarray()):
        for i in out:
            out[i] += a[i] * y.grad[None]

    @ti.ad.grad_replaced
    def run(a, out):
        s.run(a)

    @ti.ad.grad_for(run)
    def _(a, out):
        collect(a, out)

    with ti.ad.Tape(y):
        run(a, out)
        a[:] = 9.0
    assert out.tolist() == [1.0] * 3
    assert a.tolist() == [9.0] * 3
    assert x.grad.to_numpy().tolist() == [0.0] * 3


def test_an_array_that_cannot_be_put_back():
    s, base = Scaled(), np.array([1.0, 2.0, 3.0])
    a = base.view()
    a.flags.writeable = False
    tape = ti.ad.Tape(s.y)

    def run():
        with tape:
            s.run(a)
            base[:] = 9.0

    with pytest.raises(RuntimeError) as error:
        run()
    assert "the array `a` changed after a function under `grad_replaced` had used it" in str(error.value)
    assert "help: the gradient needs its old numbers, and the array is read-only" in str(error.value)
