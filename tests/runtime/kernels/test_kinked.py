"""Kinks: a probed kernel reports where a gradient was evaluated at one."""

from dataclasses import replace

import numpy as np
import pytest

import dsim as ds
from dsim.ir.primitives import TABLE
from dsim.runtime.kernels.watching import watch
from dsim.runtime.state import settings
from tests.runtime.kernels.kinks import fields, taped, told


@pytest.fixture(params=["cpu", "reference"], autouse=True)
def backend(request, monkeypatch):
    ds.init(default_fp=ds.f64)
    settings.change(replace(settings.current(), backend=request.param))


# ---------------------------------------------------------------- every row of the table

WRITTEN = {}


def written(f):
    """The primitive of its name, for any two numbers."""
    WRITTEN[f.__name__[1:]] = ds.func(f)


@written
def _abs(a, b):
    return ds.abs(a)


@written
def _max(a, b):
    return ds.max(a, b)


@written
def _min(a, b):
    return ds.min(a, b)


@written
def _sqrt0(a, b):
    return ds.Vector([a, a]).norm()


@written
def _hypot(a, b):
    return ds.hypot(a, b)


@written
def _floor(a, b):
    return ds.floor(a)


@written
def _ceil(a, b):
    return ds.ceil(a)


@written
def _round(a, b):
    return ds.round(a)


@written
def _pow(a, b):
    return b**a


@written
def _floordiv(a, b):
    return a // b


@written
def _mod(a, b):
    return a % b


def test_every_primitive_with_a_kink_is_tried():
    assert set(WRITTEN) == {name for name, row in TABLE.items() if row.kink is not None}


def kernel_of(op):
    """``U += 3 op(x[i], y[i])``, whose second element of three is at the kink."""
    row, kink = TABLE[op], TABLE[op].kink
    assert kink is not None
    (a, b) = (*kink.at, 1.0)[:2]
    off = [sum(ends) / 2 for ends in (*row.domain, (1.0, 1.0))[:2]]
    x, y, loss = fields([off[0], a, off[0]], [off[1], b, off[1]])
    function = WRITTEN[op]

    @ds.kernel
    def k():
        for i in x:
            loss[None] += 3.0 * function(x[i], y[i])

    return x, y, loss, k


@pytest.mark.parametrize("op", WRITTEN)
def test_a_kink_that_an_adjoint_comes_through(op):
    *_, loss, k = kernel_of(op)
    (found,) = taped(k, loss).kinked()
    assert told([found]) == [(op, 1, 3, (1,))]
    assert found.rms == 3.0
    assert found.slot.loops == ("i",)


@pytest.mark.parametrize("op", WRITTEN)
def test_a_kink_that_forward_mode_leaves(op):
    x, _, loss, k = kernel_of(op)
    watching = watch(k)
    with ds.ad.FwdMode(loss=loss, param=x, seed=[1.0, 2.0, 1.0]):
        watching()
    assert told(watching.kinked()) == [(op, 1, 3, (1,))]


# ------------------------------------------------------------------ reports


def test_where_no_gradient_comes_through_nothing_is_told():
    x, loss = fields(np.zeros(4))

    @ds.kernel
    def k():
        for i in x:
            m = max(x[i], 0.0)
            loss[None] += m * x[i]  # ∂/∂m = x = 0

    assert taped(k, loss).kinked() == []


def test_what_does_not_vary_has_no_kink():
    x, loss = fields(np.ones(4))

    @ds.kernel
    def k():
        zero = 0.0
        for i in x:
            least = max(zero, 0.0) + abs(i * 0.0)
            loss[None] += least * x[i] + max(zero, 0.0)

    assert taped(k, loss).kinked() == []


def test_integers_have_none():
    x, loss = fields(np.ones(4))

    @ds.kernel
    def k():
        for i in x:
            n = max(i, 2) + abs(i - 2) + i // 2 + i % 2
            loss[None] += n * x[i]

    assert taped(k, loss).kinked() == []


def test_the_first_iteration_is_the_least_one_in_any_order():
    x, loss = fields(np.zeros((3, 4)))
    x[1, 2] = x[0, 3] = 0.0

    @ds.kernel
    def k():
        for i, j in x:
            if i + j > 2:
                loss[None] += abs(x[i, j])

    (found,) = taped(k, loss).kinked()
    assert (found.met, found.times, found.where, found.slot.loops) == (6, 6, (0, 3), ("i", "j"))


def test_the_first_iteration_of_a_loop_that_goes_on_from_itself():
    """Its adjoint runs from the last iteration to the first one."""
    x, loss = fields(np.array([0.0, 1.0, 0.0, 0.0]))

    @ds.kernel
    def k():
        s = 1.0
        for i in range(4):
            s = s * 1.5 + abs(x[i])
        loss[None] = s

    (found,) = taped(k, loss).kinked()
    assert (found.met, found.where) == (3, (0,))
    assert found.rms == pytest.approx(np.sqrt((1.5**6 + 1.5**2 + 1) / 3))


def test_negative_indices_come_first():
    x, loss = fields(np.zeros(5))

    @ds.kernel
    def k():
        for i in range(-2, 3):
            loss[None] += abs(x[i + 2])

    (found,) = taped(k, loss).kinked()
    assert found.where == (-2,)


def test_outside_of_all_loops():
    x, loss = fields(0.0)

    @ds.kernel
    def k():
        loss[None] = 2.0 * abs(x[None])

    (found,) = taped(k, loss).kinked()
    assert (found.met, found.times, found.where, found.slot.loops, found.rms) == (1, 1, (), (), 2.0)


def test_two_equal_expressions_are_two_places():
    """The one has a gradient, the other has none."""
    x, loss = fields(np.zeros(2))

    @ds.kernel
    def k():
        for i in x:
            a = abs(x[i])
            b = abs(x[i])
            loss[None] += a + 0.0 * b

    (found,) = taped(k, loss).kinked()
    assert found.slot.span.source.line(found.slot.span.line).strip() == "a = abs(x[i])"


def test_a_gradient_that_is_not_finite_counts_apart():
    x, loss = fields([0.0, 4.0])

    @ds.kernel
    def k():
        for i in x:
            r = abs(x[i])
            loss[None] += ds.sqrt(r)  # an infinite slope

    (found,) = taped(k, loss).kinked()
    assert (found.slot.op, found.met, found.infinite, found.where) == ("abs", 0, 1, (0,))


def test_nan_ties_with_nothing():
    x, y, loss = fields([np.nan, 1.0], [np.nan, 1.0])

    @ds.kernel
    def k():
        for i in x:
            loss[None] += max(x[i], y[i])

    (found,) = taped(k, loss).kinked()
    assert told([found]) == [("max", 1, 2, (1,))]


def test_single_precision_and_negative_zero():
    settings.change(replace(settings.current(), fast_math=False))  # else subnormal numbers are zeros, too
    x = ds.field(ds.f32, shape=2, needs_grad=True)
    loss = ds.field(ds.f32, shape=(), needs_grad=True)
    x.from_numpy(np.array([-0.0, 1e-40], np.float32))

    @ds.kernel
    def k():
        for i in x:
            loss[None] += abs(x[i])

    assert told(taped(k, loss).kinked()) == [("abs", 1, 2, (0,))]


def test_funcs_are_told_of_by_call():
    x, loss = fields([0.0, 1.0])

    @ds.func
    def ramp(a):
        return max(a, 0.0)

    @ds.kernel
    def k():
        for i in x:
            loss[None] += ramp(x[i]) + ramp(x[i] - 1.0) + ramp(x[i] - 3.0)

    found = taped(k, loss).kinked()
    assert sorted([c.text for c in f.slot.calls] for f in found) == [["ramp(x[i] - 1.0)"], ["ramp(x[i])"]]
    assert {f.slot.span.text for f in found} == {"max(a, 0.0)"}
    assert sorted(f.where for f in found) == [(0,), (1,)]


def test_entries_of_vectors_and_functions_of_dsims_own():
    x = ds.Vector.field(3, ds.f64, shape=2, needs_grad=True)
    loss = ds.field(ds.f64, shape=(), needs_grad=True)
    x.from_numpy(np.array([[0.0, 1.0, 0.0], [5.0, 0.5, 0.5]]))

    @ds.kernel
    def k():
        for i in x:
            a = abs(x[i])
            b = ds.math.clamp(x[i], 0.0, 1.0)
            loss[None] += a.sum() + b.sum() + ds.math.length(x[i] * 0.0) + x[i].max()

    found = [(k.slot.span.text, k.slot.op, k.met, k.times) for k in taped(k, loss).kinked()]
    assert sorted(found) == [
        ("abs(x[i])", "abs", 2, 6),
        ("ds.math.clamp(x[i], 0.0, 1.0)", "max", 2, 6),
        ("ds.math.clamp(x[i], 0.0, 1.0)", "min", 1, 6),
        ("ds.math.length(x[i] * 0.0)", "sqrt0", 2, 2),
    ]


def test_inner_loops_count_their_trips_and_conditions_may_have_kinks():
    x, loss = fields([2.0, 0.5])

    @ds.kernel
    def k():
        for i in x:
            y = x[i]
            while abs(y) > 1.0:
                y = y * 0.5
            s = 0.0
            for _ in range(3):
                s += max(y, 1.0)
            loss[None] += s

    assert told(taped(k, loss).kinked()) == [("max", 3, 6, (0,))]


def test_a_func_with_a_derivative_of_its_own_keeps_its_kinks_to_itself():
    x, loss = fields([0.0, 1.0])

    @ds.func
    def size(a):
        return abs(a)

    @ds.func
    def tangent(a, da):
        return ds.math.sign(a) * da

    size.derivative(jvp=tangent, check=False)

    @ds.kernel
    def k():
        for i in x:
            loss[None] += size(x[i])

    assert taped(k, loss).kinked() == []


def test_what_is_overwritten_is_looked_at_as_it_was():
    """The adjoint of `floor` reads nothing; where its steps are is seen all the same."""
    x, loss = fields([2.0, 0.5, 3.0])

    @ds.kernel
    def k():
        for i in x:
            loss[None] += ds.floor(x[i])
            x[i] = x[i] + 0.25

    assert told(taped(k, loss).kinked()) == [("floor", 2, 3, (0,))]
    np.testing.assert_array_equal(x.to_numpy(), [2.25, 0.75, 3.25])


def test_several_launches_add_up_and_clear_begins_anew():
    x, loss = fields([1.0, 0.0])

    @ds.kernel
    def k():
        for i in x:
            loss[None] += abs(x[i])

    watching = watch(k)
    with ds.Tape(loss):
        watching()
        watching()
    assert told(watching.kinked()) == [("abs", 2, 4, (1,))]
    watching.clear()
    assert watching.kinked() == []
