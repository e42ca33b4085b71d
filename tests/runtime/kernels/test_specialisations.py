"""Kernels for the values of parameters live as long as these values and the kernel that they were made of."""

import gc
import weakref

import numpy as np
import pytest

import dsim as ti


@pytest.fixture(autouse=True)
def _fresh():
    ti.init(default_fp=ti.f64)


@ti.kernel
def doubled(x: ti.template(), y: ti.template()):
    for i in x:
        y[i] = 2 * x[i]


@ti.kernel
def scaled(x: ti.template(), by: ti.template()):
    for i in x:
        x[i] *= by


@ti.kernel
def moved(points: ti.template()):
    for i in points:
        points[i].x += points[i].v


def numbers(value=1.0):
    made = ti.field(ti.f64, shape=3, needs_grad=True)
    made.fill(value)
    return made


def pairs():
    x, y = numbers(), numbers()
    doubled(x, y)
    return x, y


def with_numbers():
    x = numbers()
    scaled(x, 3)
    scaled(x, 0.5)
    return (x,)


def structs():
    made = ti.Struct.field({"x": ti.f64, "v": ti.f64}, shape=3)
    moved(made)
    return made.x, made.v


def components():
    x, y = ti.Vector.field(2, ti.f64, shape=3), numbers()
    doubled(x.get_scalar_field(1), y)
    return x, y


@ti.kernel
def copied(pair: ti.template()):
    for i in pair[0]:
        pair[1][i] = pair[0][i]


def tuples():
    x, y = numbers(), numbers()
    copied((x, y))
    copied((x, y))
    assert len(copied._kernels.all()) == 1
    return x, y


@pytest.mark.parametrize("make", [pairs, with_numbers, structs, components, tuples])
def test_fields_are_freed_that_a_kernel_was_launched_with(make):
    fields = make()
    gone = [weakref.ref(f) for f in fields]
    gc.collect()
    assert None not in [ref() for ref in gone]
    del fields
    gc.collect()
    assert [ref() for ref in gone] == [None] * len(gone)


def test_one_field_of_two_is_enough_to_free_its_kernels():
    x = numbers()
    for value in range(50):
        y = numbers()
        doubled(x, y)
        x.fill(value)
        doubled(x, y)
        assert y.to_numpy().tolist() == [2 * value] * 3
    del y
    gc.collect()
    assert x.kernels is None
    assert doubled._kernels.all() == []


@pytest.mark.slow
def test_new_fields_at_the_addresses_of_old_ones_have_kernels_of_their_own():
    for value in range(100):
        x, y = numbers(value), numbers()
        with ti.Tape(loss=(loss := ti.field(ti.f64, shape=(), needs_grad=True))):
            doubled(x, y)
            total(y, loss)
        assert loss[None] == 6 * value
        np.testing.assert_array_equal(x.grad.to_numpy(), 2.0)
        if value % 7 == 0:
            gc.collect()


@ti.kernel
def total(y: ti.template(), loss: ti.template()):
    for i in y:
        loss[None] += y[i]


def test_a_kernel_that_is_defined_again_is_freed_although_its_field_lives():
    x = numbers()

    def define():
        @ti.kernel
        def tripled(x: ti.template()):
            for i in x:
                x[i] *= 3

        tripled(x)
        return weakref.ref(tripled), weakref.ref(tripled.of(x))

    gone = define()
    gc.collect()
    assert [ref() for ref in gone] == [None, None]
    assert x.to_numpy().tolist() == [3.0] * 3


class Owner:
    """Its kernels lead to it, and it leads to them."""

    def __init__(self, factor):
        self.factor = factor

        @ti.kernel
        def made_here(x: ti.template()):
            for i in x:
                x[i] *= self.factor

        self.made_here = made_here

    @ti.kernel
    def method(self, x: ti.template()):
        for i in x:
            x[i] *= self.factor


@pytest.mark.parametrize("name", ["made_here", "method"])
def test_owners_of_kernels_are_freed_although_a_field_lives_that_is_older(name):
    x, gone = numbers(), []
    for _ in range(5):
        owner = Owner(2.0)
        getattr(owner, name)(x)
        gone.append(weakref.ref(owner))
    del owner
    gc.collect()
    assert [ref() for ref in gone] == [None] * 5
    assert x.to_numpy().tolist() == [32.0] * 3


def test_the_form_of_a_kernel_is_that_for_the_fields_that_are_left():
    x, y = numbers(), numbers()
    doubled(x, y)
    a = numbers()
    doubled(a, y)
    with pytest.raises(ti.DsimError, match="has a kernel for each x, y: 2 of them"):
        print(doubled.primal)
    del a
    gc.collect()
    assert "y" in str(doubled.primal)


class Unit(float):
    """A number whose text does not tell which."""

    def __repr__(self):
        return "unit"


def test_numbers_of_a_class_of_the_users_are_told_apart():
    x = numbers()
    for value in (Unit(2.0), Unit(5.0), np.float32(0.5), np.float32(0.5)):
        scaled(x, value)
    assert x.to_numpy().tolist() == [2.5] * 3
    assert len(scaled._kernels.all()) == 3


@pytest.mark.slow
def test_tuples_are_told_apart_by_what_is_in_them():
    x = numbers(0.0)
    for value in range(100):
        copied((numbers(value), x))
        assert x.to_numpy().tolist() == [value] * 3
        if value % 9 == 0:
            gc.collect()
