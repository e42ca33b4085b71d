"""Probed lines that occur at several places of a kernel: in funcs called repeatedly, before loops."""

import numpy as np
import pytest

import dsim as ds
from dsim.runtime.kernels.watching import watch


@pytest.fixture(autouse=True)
def doubles():
    ds.init(default_fp=ds.f64)


def made(*, shape=3):
    x = ds.field(ds.f64, shape=shape, needs_grad=True)
    x.from_numpy(np.arange(1.0, 1.0 + shape))
    return x, ds.field(ds.f64, shape=(), needs_grad=True)


def shown(kernel, loss, probe=None, trip=None):
    watching = watch(kernel)
    watching.probe, watching.trip = probe, trip
    with ds.Tape(loss):
        watching()
    return {w.slot.name: w for w in watching.results()}


@pytest.mark.parametrize("trip", [0, 1, 2, None])
def test_a_call_on_whose_result_nothing_depends_has_no_gradient(trip):
    x, loss = made()

    @ds.func
    def square(a):
        s = a * a
        return s  # noqa: RET504 (the line above is looked at)

    @ds.kernel
    def k():
        for i in x:
            first = square(x[i])
            square(first)
            third = square(3.0)
            loss[None] += first + 5.0 * third

    s = shown(k, loss, (1,), trip)["s"]
    assert s.hits == 3
    assert s.value == [4.0, 16.0, 9.0][2 if trip is None else trip]
    assert s.gradient == [1.0, None, 5.0][2 if trip is None else trip]
    assert s.rms == pytest.approx(np.sqrt((1 + 25) / 3))


def test_a_func_called_outside_and_inside_of_a_loop_counts_all_of_it():
    x, loss = made()

    @ds.func
    def triple(a):
        t = 3.0 * a
        return t  # noqa: RET504

    @ds.kernel
    def k():
        loss[None] += 4.0 * triple(x[0])
        for i in x:
            loss[None] += triple(x[i]) * i

    t = shown(k, loss, (2,))["t"]
    assert t.times == 4
    assert (t.value, t.gradient, t.hits, t.where) == (9.0, 2.0, 1, (2,))
    assert t.rms == pytest.approx(np.sqrt((16 + 0 + 1 + 4) / 4))
    t = shown(k, loss, (7,))["t"]  # no iteration of the loop: what runs outside of it
    assert (t.value, t.gradient, t.hits, t.where, t.times) == (3.0, 4.0, 1, (), 4)


def test_a_func_that_is_called_with_numbers_and_vectors_counts_all_of_it():
    x, loss = made()

    @ds.func
    def half(a):
        h = 0.5 * a
        return h  # noqa: RET504

    @ds.kernel
    def k():
        for i in x:
            loss[None] += half(x[i]) + 2.0 * half(ds.Vector([x[i], 1.0])).sum()

    h = shown(k, loss, (1,))["h"]
    assert h.times == 6
    assert h.rms == pytest.approx(np.sqrt((3 * 1.0 + 3 * 8.0) / 6))


def test_a_constant_before_a_loop_has_its_gradient():
    """Also where the tape takes the kernel apart."""
    x, loss = made()

    @ds.kernel
    def k():
        a = 1.5
        b = 2.0 * a
        for i in x:
            x[i] = ds.sin(x[i] - b)

    @ds.kernel
    def total():
        for i in x:
            loss[None] += x[i]

    watching = watch(k)
    begun = x.to_numpy()
    with ds.Tape(loss):
        watching()
        total()
    got = {w.slot.name: w for w in watching.results()}
    right = -np.cos(begun - 3.0).sum()
    assert got["b"].gradient == pytest.approx(right)
    assert got["a"].gradient == pytest.approx(2 * right)
    assert got["a"].rms == pytest.approx(2 * abs(right))


def test_a_launch_after_the_loss_was_computed_has_no_gradient():
    x, loss = made()

    @ds.kernel
    def k():
        for i in x:
            a = ds.sin(x[i])
            x[i] = a

    @ds.kernel
    def total():
        for i in x:
            loss[None] += x[i]

    watching = watch(k)
    for trip, gradient in ((0, 1.0), (1, 0.0)):
        x.fill(0.5)
        watching.clear()
        watching.probe, watching.trip = (1,), trip
        with ds.Tape(loss):
            watching()
            total()
            watching()
        a = next(w for w in watching.results() if w.slot.name == "a")
        assert a.value == pytest.approx([np.sin(0.5), np.sin(np.sin(0.5))][trip])
        assert a.gradient == gradient
        assert a.rms == pytest.approx(np.sqrt(0.5))
