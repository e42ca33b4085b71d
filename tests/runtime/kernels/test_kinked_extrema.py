"""Minima and maxima accumulated into one element: ties between iterations are kinks."""

from dataclasses import replace

import numpy as np
import pytest

import dsim as ds
from dsim.runtime.kernels.watching import watch
from dsim.runtime.state import settings
from tests.runtime.kernels.kinks import fields, taped, told


@pytest.fixture(params=["cpu", "reference"], autouse=True)
def backend(request, monkeypatch):
    ds.init(default_fp=ds.f64)
    settings.change(replace(settings.current(), backend=request.param))


def greatest(*values):
    """The greatest size of these numbers, and the loss that it is."""
    x, loss = fields(values)

    @ds.kernel
    def k():
        for i in x:
            ds.atomic_max(loss[None], ds.abs(x[i]))

    return x, loss, k


def test_iterations_that_tie_for_the_maximum():
    x, loss, k = greatest(0.5, 1.0, 1.0, -1.0)
    (found,) = taped(k, loss).kinked()
    assert (found.slot.op, found.slot.of_many) == ("max", True)
    assert told([found]) == [("max", 2, 4, (2,))]
    assert found.rms == 1.0
    np.testing.assert_array_equal(x.grad.to_numpy(), [0, 0, 0, -1])  # the last one's


def test_ties_below_the_maximum_are_none():
    _, loss, k = greatest(0.5, 0.5, 1.0, 1.0, 0.5, 2.0)
    assert taped(k, loss).kinked() == []


def test_ties_before_a_new_maximum_are_forgotten():
    _, loss, k = greatest(3.0, 1.0, 3.0, 5.0, 5.0)
    assert told(taped(k, loss).kinked()) == [("max", 1, 5, (4,))]


def test_a_tie_with_what_was_there():
    _, loss, k = greatest(0.0, 0.0)
    assert told(taped(k, loss).kinked()) == [("max", 2, 2, (0,)), ("abs", 1, 2, (1,))]


def test_a_minimum_that_nothing_depends_on():
    x, loss = fields([2.0, 1.0, 1.0])
    least = ds.field(ds.f64, shape=2, needs_grad=True)

    @ds.kernel
    def k():
        for i in x:
            ds.atomic_min(least[0], x[i])
            ds.atomic_min(least[1], x[i])
        loss[None] = 4.0 * least[1]

    least.fill(9.0)
    (found,) = taped(k, loss).kinked()
    assert found.slot.span.text == "ds.atomic_min(least[1], x[i])"
    assert (*told([found])[0], found.rms) == ("min", 1, 3, (2,), 4.0)


def test_a_maximum_in_forward_mode():
    x, loss, k = greatest(0.5, 1.0, 1.0)
    watching = watch(k)
    with ds.ad.FwdMode(loss=loss, param=x, seed=[1.0, 2.0, 3.0]):
        watching()
    assert told(watching.kinked()) == [("max", 1, 3, (2,))]
