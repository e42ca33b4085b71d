"""Kernels with field parameters: one compilation for each field passed."""

import gc

import numpy as np
import pytest

import dsim as ti


@pytest.fixture(autouse=True)
def _fresh():
    ti.init(default_fp=ti.f64)


@pytest.fixture
def fields():
    a, b = (ti.field(ti.f64, shape=3, needs_grad=True) for _ in range(2))
    a.from_numpy(np.array([1.0, 2.0, 3.0]))
    return a, b


def test_a_kernel_for_each_field(fields):
    a, b = fields

    @ti.kernel
    def twice(source: ti.template(), target: ti.template(), factor: float):
        for i in source:
            target[i] = factor * source[i]

    twice(a, b, 2.0)
    assert b.to_numpy().tolist() == [2.0, 4.0, 6.0]
    twice(b, a, factor=0.25)
    assert a.to_numpy().tolist() == [0.5, 1.0, 1.5]
    twice(target=b, source=a, factor=1.0)
    assert b.to_numpy().tolist() == [0.5, 1.0, 1.5]
    assert twice.of(a, b) is twice.of(a, b)
    assert twice.of(a, b) is not twice.of(b, a)


def test_fields_of_other_shapes_and_numbers_known_when_compiled():
    plane = ti.field(ti.f64, shape=(2, 2))

    @ti.kernel
    def fill(f: ti.template, count: ti.template()):
        for index in ti.grouped(f):
            for k in ti.static(range(count)):
                f[index] += k

    fill(plane, 4)
    assert (plane.to_numpy() == 6.0).all()
    fill(plane, 2)
    assert (plane.to_numpy() == 7.0).all()


def test_arguments_that_change_afterwards():
    v, numbers = ti.Vector([1.0, 2.0]), [3.0]

    @ti.kernel
    def total(a: ti.template(), b: ti.template()) -> float:
        s = a.sum()
        for n in ti.static(b):
            s += n
        return s

    assert total(v, numbers) == 6.0
    v[0] = 10.0
    assert total(v, numbers) == 15.0
    numbers.append(100.0)
    assert total(v, numbers) == 115.0
    numbers[0] = 0.0
    assert total(v, numbers) == 112.0


def test_gradients(fields):
    a, b = fields
    loss = ti.field(ti.f64, shape=(), needs_grad=True)

    @ti.kernel
    def square(source: ti.template(), target: ti.template()):
        for i in source:
            target[i] += source[i] ** 2

    @ti.kernel
    def add_up(f: ti.template()):
        for i in f:
            loss[None] += f[i]

    with ti.Tape(loss):
        square(a, b)
        add_up(b)
        add_up(a)
    assert a.grad.to_numpy().tolist() == [3.0, 5.0, 7.0]
    a.grad.fill(0.0)
    b.grad.fill(1.0)
    square.grad(a, b)
    assert a.grad.to_numpy().tolist() == [2.0, 4.0, 6.0]
    assert "backward of" in square.adjoint.python
    add_up.of(a)
    with pytest.raises(TypeError, match=r"add_up\.of\(f\)\.adjoint"):
        add_up.adjoint  # noqa: B018


def test_one_field_for_two_parameters_is_one_memory(fields):
    a, _ = fields

    @ti.kernel
    def shift(source: ti.template(), target: ti.template()):
        for i in range(2):
            target[i] = source[i + 1]

    with pytest.warns(ti.DsimWarning, match="runs serially"):
        shift(a, a)
    assert a.to_numpy().tolist() == [2.0, 3.0, 3.0]


def test_wrong_calls(fields):
    a, _ = fields

    @ti.kernel
    def clear(f: ti.template()):
        for i in f:
            f[i] = 0.0

    with pytest.raises(TypeError, match=r"takes 1 argument \(f\), got 0"):
        clear()
    with pytest.raises(TypeError, match="got 2"):
        clear(a, 1)
    with pytest.raises(TypeError, match="template parameters f, got 2 values"):
        clear.of(a, a)


@pytest.mark.slow
def test_a_field_that_takes_the_place_of_another_one_is_not_taken_for_it():
    @ti.kernel
    def put(f: ti.template(), n: int):
        for i in f:
            f[i] = n

    for n in range(1000, 1020):
        f = ti.field(ti.i32, shape=n - 995)
        put(f, n)
        put(f, n)
        assert (f.to_numpy() == n).all()
        del f
        gc.collect()


def test_zeros_of_both_signs_are_two_values():
    x = ti.field(ti.f64, shape=())
    x[None] = -1.0

    @ti.kernel
    def angle(y: ti.template()) -> ti.f64:
        return ti.atan2(y, x[None])

    ti.init(default_fp=ti.f64)
    assert [angle(0.0), angle(-0.0), angle(0.0)] == [np.pi, -np.pi, np.pi]
