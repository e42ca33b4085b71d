"""Transforms in several threads at once, on fields that they share: each gives what it gives by itself."""

from __future__ import annotations

import os
import threading

import numpy as np
import pytest

import dsim as ti
from tests.runtime.threading_together import aside, together

THREADS, TIMES = 4, 8


class Swing:
    """A state that steps in place: its run writes what it reads."""

    def __init__(self):
        self.start = ti.field(ti.f64, shape=5, name="start", needs_grad=True)
        self.k = ti.field(ti.f64, shape=(), name="k", needs_grad=True)
        self.x = ti.field(ti.f64, shape=5, name="x", needs_grad=True)
        self.v = ti.field(ti.f64, shape=5, name="v", needs_grad=True)
        self.loss = ti.field(ti.f64, shape=(), name="loss", needs_grad=True)
        self.start.from_numpy(np.linspace(0.2, 1.0, 5))
        self.k[None] = 1.5

        @ti.kernel
        def begin():
            for i in self.x:
                self.x[i] = self.start[i]
                self.v[i] = 0.0

        @ti.kernel
        def step():
            for i in self.x:
                self.v[i] -= 0.1 * self.k[None] * ti.sin(self.x[i])
                self.x[i] += 0.1 * self.v[i]

        @ti.kernel
        def measure():
            for i in self.x:
                self.loss[None] += self.x[i] ** 2

        self.begin, self.step, self.measure = begin, step, measure

    def run(self):
        self.begin()
        for _ in range(5):
            self.step()
        self.measure()

    def run_twice(self):
        self.run()
        self.step()
        self.measure()


@pytest.fixture
def swing():
    return Swing()


def often(work):
    return lambda n: [work(n) for _ in range(TIMES)]


def test_one_objective_in_several_threads(swing):
    f = ti.objective(swing.run, wrt=[swing.start, swing.k], loss=swing.loss)
    points = [f.x0 + 0.1 * n for n in range(THREADS)]
    expected = [f(x) for x in points]
    for n, found in enumerate(together(THREADS, often(lambda n: f(points[n])))):
        for value, gradient in found:
            assert value == expected[n][0]
            np.testing.assert_array_equal(gradient, expected[n][1])


@pytest.mark.slow
def test_products_of_one_objective_in_several_threads(swing):
    f = ti.objective(swing.run, wrt=[swing.start, swing.k], loss=swing.loss)
    points = [f.x0 + 0.1 * n for n in range(THREADS)]
    along = np.arange(1.0, 7.0)
    expected = [f.hessp(x, along) for x in points]
    for n, found in enumerate(together(THREADS, often(lambda n: f.hessp(points[n], along)))):
        np.testing.assert_array_equal(found, [expected[n]] * TIMES)


def test_runs_that_share_a_state_in_several_threads(swing):
    one = ti.objective(swing.run, wrt=swing.start, loss=swing.loss)
    other = ti.objective(swing.run_twice, wrt=swing.k, loss=swing.loss)
    works = [
        lambda: one(np.full(5, 0.3))[1],
        lambda: other(np.full(1, 2.0))[1],
        lambda: ti.jvp(swing.run, wrt=swing.k, out=swing.x, tangents=np.array(1.0))[1],
        lambda: ti.vjp(swing.run_twice, wrt=swing.start, out=swing.v)[1](np.ones(5)),
    ]
    expected = [work() for work in works]
    for n, found in enumerate(together(THREADS, often(lambda n: works[n]()))):
        np.testing.assert_array_equal(found, [expected[n]] * TIMES)


def test_fields_keep_their_numbers(swing):
    f = ti.objective(swing.run, wrt=swing.k, loss=swing.loss)
    swing.x.from_numpy(np.arange(5.0))
    swing.loss[None] = 7.0
    together(THREADS, often(lambda n: f(np.full(1, 0.5 + n))))
    assert swing.k[None] == 1.5
    assert swing.loss[None] == 7.0
    np.testing.assert_array_equal(swing.x.to_numpy(), np.arange(5.0))


def test_present_values_are_read_between_evaluations(swing):
    f = ti.objective(swing.run, wrt=swing.start, loss=swing.loss)
    before = f.x0

    def work(n):
        return f(np.zeros(5)) if n else f.x0

    found, *_ = together(THREADS, often(work))
    np.testing.assert_array_equal(found, [before] * TIMES)


def test_checks_beside_evaluations(swing):
    f = ti.objective(swing.run, wrt=swing.start, loss=swing.loss)
    expected = f(np.full(5, 0.3))[1]

    def work(n):
        if n:
            return f(np.full(5, 0.3))[1]
        assert ti.check_grad(swing.run, wrt=swing.k, loss=swing.loss)
        return expected

    for found in together(2, often(work)):
        np.testing.assert_array_equal(found, [expected] * TIMES)


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no such system call")
def test_a_child_of_fork_finds_fields_as_they_are_between_evaluations(swing):
    f = ti.objective(swing.run, wrt=swing.k, loss=swing.loss)
    expected = f(np.ones(1))[0]
    end = threading.Event()

    def evaluate():
        while not end.is_set():
            f(np.full(1, 3.0))

    thread = threading.Thread(target=evaluate)
    thread.start()
    try:
        for _ in range(5):
            child = os.fork()
            if child == 0:
                right = swing.k[None] == 1.5 and aside(lambda: f(np.ones(1))[0]) == pytest.approx(expected)
                os._exit(0 if right else 1)
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    finally:
        end.set()
        thread.join()
