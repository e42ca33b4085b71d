"""Captured Python numbers: watched constants, which become parameters after a change."""

from __future__ import annotations

import math
from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np

from dsim.frontend.source.paths import MISSING
from dsim.ir.types import f32, f64
from tests.frontend.dialect import LoweringSettings, f, lowered, run, text, ti

STEP = 0.25


def test_numbers_are_constants_that_can_be_compared() -> None:
    x = f(4)
    dt, n, on, scale = 0.5, 3, True, np.float32(2.0)

    def k():
        if on:
            x[n] = dt * STEP * scale * math.pi

    result = lowered(k)
    assert {c.name: c.value for c in result.captures} == {
        "on": True, "dt": 0.5, "STEP": 0.25, "scale": 2.0, "n": 3,
    }  # fmt: skip
    assert result.hidden == ()
    dt = 0.75
    assert {c.name: c.read() for c in result.captures}["dt"] == 0.75
    run(k)
    assert x.values[3] == 0.75 * 0.25 * 2 * math.pi


def test_a_promoted_number_is_a_parameter() -> None:
    x = f(2)
    dt, n = 0.5, 3

    def k(a: float):
        x[0] = a * dt + n
        x[1] = dt * 2 * n / 4

    names = frozenset({"dt", "n"})
    result = lowered(k, promoted=names)
    assert [c.name for c in result.hidden] == ["dt", "n"]
    assert result.captures == ()
    params = [("a", f64), ("dt", f64), ("n", f64), ("dt_n", f64)]  # the last one is what Python computes
    assert [(p.name, p.type) for p in result.kernel.params] == params
    run(k, 2.0, promoted=names)
    assert x.values.tolist() == [4.0, 0.75]
    dt = 0.25
    run(k, 2.0, promoted=names)
    assert x.values.tolist() == [3.5, 0.375]


def test_a_promoted_number_takes_the_type_of_what_it_meets() -> None:
    x = f(2, dtype=ti.f32)
    y = f(2, dtype=ti.f64)
    dt = 0.1

    def k():
        x[0] = x[1] * dt
        y[0] = y[1] * dt

    shown = text(k, LoweringSettings(f32), promoted=frozenset({"dt"}))
    assert "f32 = cast dt" in shown
    assert "mul y_at, dt" in shown


def test_static_uses_stay_constant() -> None:
    x = f(8)
    n = 3

    def k():
        for i in ti.static(range(n)):
            x[i] = n

    result = lowered(k, promoted=frozenset({"n"}))
    assert [(c.name, c.value) for c in result.captures] == [("n", 3)]
    assert [c.name for c in result.hidden] == ["n"]


def test_numbers_that_must_be_known_are_not_promoted() -> None:
    x = f(8)
    n, step, dt = 3, 2, 0.5

    def k():
        v = ti.Vector.zero(float, n)
        for i in range(0, 8, step):
            x[i] += dt + v.sum()

    result = lowered(k, promoted=frozenset({"n", "step", "dt"}))
    assert [c.name for c in result.hidden] == ["dt"]
    assert {c.name for c in result.captures} == {"n", "step"}


def test_numbers_of_objects_and_containers() -> None:
    x = f(4)
    cfg = SimpleNamespace(dt=0.5, inner=SimpleNamespace(k=[1.0, 2.0]))
    table = {"a": 4.0}

    def k():
        x[0] = cfg.dt + cfg.inner.k[1]
        x[1] = table["a"]

    result = lowered(k)
    values = {c.name: c.value for c in result.captures}
    assert values["cfg.dt"] == 0.5
    assert values["cfg.inner.k[1]"] == 2.0
    assert values["table['a']"] == 4.0
    cfg.inner.k[1] = 5.0
    assert {c.name: c.read() for c in result.captures}["cfg.inner.k[1]"] == 5.0
    run(k)
    assert x.values[:2].tolist() == [5.5, 4.0]


def test_one_name_in_two_functions() -> None:
    x = f(2)
    c = 1.0

    def make():
        c = 2.0

        @ti.func
        def g():
            return c

        return g

    g = make()

    def k():
        x[0] = c
        x[1] = g()

    result = lowered(k)
    assert {v.name: v.value for v in result.captures} == {"c": 1.0, "g.c": 2.0}
    run(k, promoted=frozenset({"g.c"}))
    assert x.values.tolist() == [1.0, 2.0]


def test_a_field_that_a_name_leaves_is_seen() -> None:
    x = f(2)

    def k():
        x[0] = 1.0

    (held,) = lowered(k).objects
    assert held.value is held.read()
    x = f(3)
    assert held.value is not held.read()


def test_of_an_array_only_what_is_used_is_watched() -> None:
    x = f(4)
    rows, weights = np.zeros((3, 2)), np.array([1.0, 2.0])

    def length():
        for i in range(len(rows)):
            x[i] = 1.0

    def content():
        for w in ti.static(weights):
            x[0] += w

    (watched,) = lowered(length).captures
    assert (watched.name, watched.value) == ("len(rows)", 3)
    rows[0, 0] = 5.0
    assert watched.read() == 3
    rows = np.zeros((4, 2))
    assert watched.read() == 4

    (watched,) = lowered(content).captures
    assert watched.read() == watched.value
    weights[1] = 7.0
    assert watched.read() != watched.value


def test_parameters_defaults_and_classes_have_paths_of_their_own() -> None:
    """Each launch compares them by their paths: two of one name would be taken for one."""
    y = f(1)
    setting = SimpleNamespace(v=1.0)

    def law_of(numbers):
        def law(q, numbers=numbers):
            return q * numbers[0]

        return law

    def record_of(numbers):
        @dataclass
        class Record:
            a: float

            def scaled(self):
                return self.a * self.numbers[0]

        Record.numbers = numbers
        return Record

    def outer():
        return setting.v

    given, lists = SimpleNamespace(v=2.0), ([3.0], [4.0], [5.0], [6.0])
    law, other = law_of(lists[0]), law_of(lists[1])
    First, Second = record_of(lists[2]), record_of(lists[3])

    def k(setting: ti.template()):
        y[0] = setting.v * 1e-1 + outer() + law(10.0) + other(100.0)
        y[0] += First(1000.0).scaled() + Second(10000.0).scaled()

    result = lowered(k, bound={"setting": given})
    numbers = [c for c in result.captures if isinstance(c.value, float)]
    assert sorted(c.value for c in numbers) == [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
    setting.v, given.v = 10.0, 20.0
    for i, numbers_ in enumerate(lists):
        numbers_[0] = 30.0 + i
    assert sorted(c.read() for c in numbers) == [10.0, 20.0, 30.0, 31.0, 32.0, 33.0]


def test_a_part_of_a_path_that_is_gone() -> None:
    y = f(1)
    numbers, held = [1.0, 2.0], SimpleNamespace(inner=SimpleNamespace(v=3.0))

    def k():
        y[0] = numbers[1] + held.inner.v

    found = {c.name: c for c in lowered(k).captures}
    numbers.pop()
    del held.inner
    assert found["numbers[1]"].read() is found["held.inner.v"].read() is MISSING


def test_classes_that_a_kernel_makes_or_tells_apart() -> None:
    y = f(1)

    @dataclass
    class Made:
        a: float

    @dataclass
    class Wanted:
        a: float

    value = Made(2.0)

    def k():
        y[0] = Made(1.0).a
        if isinstance(value, Wanted):
            y[0] = 2.0
        match value:
            case Wanted():
                y[0] = 3.0

    assert {c.name for c in lowered(k).objects} == {"y", "Made", "Wanted", "value"}
