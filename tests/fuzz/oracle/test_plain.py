"""The oracle itself: known values, and derivatives that match its finite differences."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings

from tests.fuzz.drawing.program import Program
from tests.fuzz.drawing.programs import programs
from tests.fuzz.oracle import plain
from tests.fuzz.rewriting.fresh import fresh

STEP = 1e-6

TEXT = """
x = ti.field(ti.f64, shape=(2,), needs_grad=True)
k = ti.field(ti.i32, shape=(2,))
v = ti.Vector.field(2, ti.f64, shape=(1,))
loss = ti.field(ti.f64, shape=(), needs_grad=True)


@ti.kernel
def first(g: float):
    k[0] = (k[1] * 1103515245 + 12345) >> 16
    p = ti.Vector([x[0], x[1], 1.0])
    q = p
    q[0] = 5.0
    v[0] = ti.Vector([p[0], q[0]])
    v[0][1] += g
    old = ti.atomic_max(x[1], x[0] * x[0])
    loss[None] += old * max(x[0], x[0]) + x[1] + 7 // 2


def run():
    first(0.25)
    x[0] = 2.0
"""


def test_known_values():
    start = {
        "x": np.array([3.0, 0.5]),
        "k": np.array([0, 3], np.int32),
        "v": np.zeros((1, 2)),
        "loss": np.array(0.0),
    }
    result = plain.run(TEXT, start, ("x",))
    assert result.values["k"].tolist() == [(((3 * 1103515245 + 12345 + 2**31) % 2**32) - 2**31) >> 16, 3]
    assert result.values["x"].tolist() == [2.0, 9.0]
    assert result.values["v"].tolist() == [[3.0, 5.25]]
    assert result.values["loss"] == 0.5 * 3.0 + 9.0 + 3
    assert result.tangents["loss"].tolist() == [0.5 + 6.0, 3.0]  # by x[0] and by x[1] before the run
    assert result.tangents["x"].tolist() == [[0.0, 0.0], [6.0, 0.0]]
    assert result.watch.events == {"overwritten float"}


def _each(count: int):
    def decorate(test):
        kept = settings(
            max_examples=count, deadline=None, database=None, phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )  # fmt: skip
        return seed(3)(kept(given(programs())(test)))

    return decorate


@_each(15)
def test_its_derivatives_are_differences(program: Program):
    result = plain.run(program.text, program.start, program.inputs)
    if result.watch.margin < 1e-4:
        return  # a step might change a selection
    names, rng = program.inputs, np.random.default_rng(1)
    direction = {name: rng.uniform(-1, 1, program.start[name].shape) for name in names}

    def value(step: float):
        start = program.start | {name: program.start[name] + step * direction[name] for name in names}
        return plain.run(program.text, start, ()).values

    ahead, behind = value(STEP), value(-STEP)
    flat = np.concatenate([direction[name].ravel() for name in names])
    if "ti.stop_grad" in program.text:
        return  # differences go through it
    for name, rows in result.tangents.items():
        slopes = (ahead[name] - behind[name]) / (2 * STEP)
        np.testing.assert_allclose(
            rows @ flat, slopes, rtol=1e-5, atol=1e-5 * (1 + np.abs(slopes).max(initial=0))
        )


WRITES_ITS_PARAMETER = """
x = ti.field(ti.f64, shape=(2,), needs_grad=True)
loss = ti.field(ti.f64, shape=(), needs_grad=True)


@ti.func
def f(p):
    p[0] = 7.0
    return p.sum()


@ti.func
def f_forward(p, p_dot):
    p_dot[1] = 2.0 * p_dot[1]
    return p[0] * p_dot.sum()


@ti.func
def f_backward(p, w):
    p[1] = p[0]
    return ti.Vector([w * p[0], 2.0 * w * p[1]])


f.derivative({rule})


@ti.kernel
def first():
    loss[None] = f(ti.Vector([x[0], x[1]]))


def run():
    first()
"""


@pytest.mark.parametrize("rule", ["jvp=f_forward", "vjp=f_backward"])
def test_funcs_with_a_derivative_write_to_copies_of_their_arguments(rule):
    start = {"x": np.array([3.0, 5.0]), "loss": np.array(0.0)}
    result = plain.run(WRITES_ITS_PARAMETER.format(rule=rule), start, ("x",))
    assert result.values["loss"] == 12.0
    np.testing.assert_array_equal(result.tangents["loss"], [3.0, 6.0])


WIDE = """
c = ti.field(ti.i32, shape=(2,))
l = ti.field(ti.i64, shape=(2,))


@ti.kernel
def first():
    ti.atomic_max(c[0], l[0])
    ti.atomic_min(c[1], l[1])


def run():
    first()
"""


def test_an_integer_beyond_the_type_of_an_extremum_is_the_nearest_of_it():
    start = {"c": np.array([3, 3], np.int32), "l": np.array([2**40 + 1, -(2**40) - 1])}
    assert plain.run(WIDE, start, ()).values["c"].tolist() == [2**31 - 1, -(2**31)]


@_each(15)
def test_fresh_fields_change_nothing(program: Program):
    other = fresh(program)
    a, b = (plain.run(p.text, p.start, p.inputs) for p in (program, other))
    for name in program.floats:
        np.testing.assert_array_equal(a.values[name], b.values[name])
        np.testing.assert_array_equal(a.tangents[name], b.tangents[name])
