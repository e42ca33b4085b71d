"""Transforms by NumPy arrays that are views of one memory."""

import numpy as np
import pytest

import dsim as ti
from dsim.diagnostics import GradientError


@pytest.fixture
def products():
    """The sum of ``p[i] q[i]``."""
    ti.init(default_fp=ti.f64)
    y = ti.field(ti.f64, shape=())

    @ti.kernel
    def kernel(p: ti.types.ndarray(), q: ti.types.ndarray()):
        y[None] = 0.0
        for i in range(3):
            y[None] += p[i] * q[i]

    return kernel, y


def test_one_that_is_used_through_another_view(products):
    kernel, y = products
    base = np.arange(5.0)
    gradient = ti.grad(lambda: kernel(base, base[1:4]), wrt=base, out=y)()
    assert gradient.tolist() == [1.0, 2.0, 4.0, 2.0, 0.0]


@pytest.mark.parametrize("transform", [ti.grad, ti.jacobian, ti.hessian, ti.linearize])
def test_two_that_share_memory_are_refused(products, transform):
    """What varies in one varies in the other: no gradient by one alone is what a person means."""
    kernel, y = products
    base = np.arange(5.0)
    part = base[1:4]
    message = r"(?s)arrays of shape \(5,\) and \(3,\) in `wrt=` share memory.*transform.*name the array"
    with pytest.raises(GradientError, match=message):
        transform(lambda: kernel(base, part), wrt=[base, part], out=y)


@pytest.mark.parametrize("transform", [ti.value_and_grad, ti.jacobian, ti.linearize])
def test_one_whose_elements_share_memory_is_refused(products, transform):
    """Values for it could not all be put there."""
    kernel, y = products
    windows = np.lib.stride_tricks.sliding_window_view(np.arange(5.0), 3, writeable=True)
    message = r"(?s)elements of the array of shape \(3, 3\) in `wrt=` share memory.*name the array"
    with pytest.raises(GradientError, match=message):
        transform(lambda: kernel(windows[0], windows[1]), wrt=windows, out=y)


def test_parts_that_lie_between_each_other(products):
    kernel, y = products
    base = np.arange(6.0)
    even, odd = base[::2], base[1::2]
    even_grad, odd_grad = ti.jacobian(lambda: kernel(even, odd), wrt=[even, odd], out=y).values()
    assert (even_grad.tolist(), odd_grad.tolist()) == ([1.0, 3.0, 5.0], [0.0, 2.0, 4.0])


@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0)])
def test_one_without_elements(shape):
    """NumPy gives it strides of 0."""
    ti.init(default_fp=ti.f64)

    @ti.kernel
    def total(a: ti.types.ndarray(), y: ti.types.ndarray()):
        y[0] = 7.0
        for at in ti.grouped(a):
            y[0] += a[at]

    a, y = np.zeros(shape), np.zeros(1)
    assert ti.jacobian(lambda: total(a, y), wrt=a, out=y).shape == (1, *shape)
    assert ti.vjp(lambda: total(a, y), wrt=a, out=y)[1]([1.0]).shape == shape
