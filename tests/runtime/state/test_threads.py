"""Threads: each has its own tapes and forward modes, and kernels are compiled once for all."""

from __future__ import annotations

import itertools
import threading
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import dsim as ti
from dsim.runtime.fields.fields import Field, begin_turn
from dsim.runtime.state import turns
from tests.runtime.threading_together import aside, together

pytestmark = pytest.mark.slow


def _program() -> SimpleNamespace:
    """The loss is the sum of c·x², by way of a second field."""
    x = ti.field(ti.f64, shape=8, needs_grad=True)
    s = ti.field(ti.f64, shape=8, needs_grad=True)
    loss = ti.field(ti.f64, shape=(), needs_grad=True)

    @ti.kernel
    def square(c: float):
        for i in x:
            s[i] = c * x[i] ** 2

    @ti.kernel
    def total():
        for i in s:
            loss[None] += s[i]

    def run(c: float) -> None:
        square(c)
        total()

    return SimpleNamespace(x=x, s=s, loss=loss, run=run)


def test_tapes_with_fields_and_kernels_of_their_own() -> None:
    def work(n: int) -> int:
        p = _program()
        p.x.fill(1.0 + n)
        wrong = 0
        for k in range(1000):
            c = 2.0 + k % 3
            with ti.ad.Tape(p.loss):
                p.run(c)
            wrong += not np.array_equal(p.x.grad.to_numpy(), np.full(8, 2 * c * (1.0 + n)))
            wrong += p.loss[None] != 8 * c * (1.0 + n) ** 2
        return wrong

    assert together(4, work) == [0] * 4


def test_forward_modes_with_fields_and_kernels_of_their_own() -> None:
    def work(n: int) -> int:
        p = _program()
        p.x.fill(1.0 + n)
        wrong = 0
        for k in range(1000):
            c = 2.0 + k % 3
            p.loss[None] = 0.0
            with ti.ad.FwdMode(loss=p.loss, param=p.x, seed=np.ones(8)):
                p.run(c)
            wrong += p.loss.dual[None] != 16 * c * (1.0 + n)
        return wrong

    assert together(4, work) == [0] * 4


def test_one_kernel_on_fields_of_each_thread() -> None:
    """All threads compile the same kernels at once, over arguments and over a field that they only read."""
    factor = ti.field(ti.f64, shape=8)
    factor.from_numpy(np.arange(8.0))

    @ti.kernel
    def of_arrays(x: ti.types.ndarray(), loss: ti.types.ndarray()):
        for i in range(8):
            loss[None] += factor[i] * x[i] ** 2

    @ti.kernel
    def of_templates(x: ti.template(), loss: ti.template()):
        for i in x:
            loss[None] += factor[i] * x[i] ** 3

    def work(n: int) -> int:
        wrong = 0
        a = ti.ndarray(ti.f64, shape=8, needs_grad=True)
        x = ti.field(ti.f64, shape=8, needs_grad=True)
        loss = ti.ndarray(ti.f64, shape=(), needs_grad=True)
        total = ti.field(ti.f64, shape=(), needs_grad=True)
        a.fill(1.0 + n)
        x.fill(1.0 + n)
        for _ in range(500):
            with ti.ad.Tape(loss):
                of_arrays(a, loss)
            wrong += not np.array_equal(a.grad.to_numpy(), 2 * np.arange(8.0) * (1.0 + n))
            with ti.ad.Tape(total):
                of_templates(x, total)
            wrong += not np.array_equal(x.grad.to_numpy(), 3 * np.arange(8.0) * (1.0 + n) ** 2)
        return wrong

    assert together(4, work) == [0] * 4


def test_a_kernel_is_compiled_once() -> None:
    x = ti.field(ti.f64, shape=4, needs_grad=True)

    @ti.kernel
    def double():
        for i in x:
            x[i] *= 2.0

    forms = together(4, lambda _: (double.primal, double.adjoint, double.primal.program.machine))
    assert len(set(map(id, (f for f, _, _ in forms)))) == 1
    assert len(set(map(id, (a for _, a, _ in forms)))) == 1
    assert len(set(map(id, (m for _, _, m in forms)))) == 1


def test_templates_are_chosen_once() -> None:
    @ti.kernel
    def fill(x: ti.template()):
        for i in x:
            x[i] = 1.0

    x = ti.field(ti.f64, shape=4)
    assert len(set(map(id, together(4, lambda _: fill.of(x))))) == 1


def test_a_method_is_one_kernel() -> None:
    @ti.data_oriented
    class Model:
        def __init__(self) -> None:
            self.x = ti.field(ti.f64, shape=4)

        @ti.kernel
        def step(self):
            for i in self.x:
                self.x[i] += 1.0

    model = Model()
    assert len(set(map(id, together(4, lambda _: model.step)))) == 1


def test_companions_are_made_once() -> None:
    for _ in range(20):
        x = ti.field(ti.f64, shape=4)
        assert len(set(map(id, together(4, lambda _, x=x: x.grad)))) == 1
        buffers = together(4, lambda _, x=x: x.scratch(("bar",)).buffer)
        assert len(set(map(id, buffers))) == 1


def test_launches_of_one_kernel_without_a_context() -> None:
    """Arguments, values that are returned and arrays are each launch's own."""

    @ti.kernel
    def total(a: ti.types.ndarray(dtype=ti.f64, ndim=1), factor: float) -> ti.f64:
        found = ti.cast(0.0, ti.f64)
        for _ in range(1):
            for i in range(64):
                found += factor * a[i]
        return found

    def work(n: int) -> int:
        array = np.full(64, 1.0 + n)
        return sum(total(array, float(k)) != 64.0 * (1.0 + n) * k for k in range(500))

    assert together(4, work) == [0] * 4


def test_an_error_is_raised_in_the_thread_of_its_launch() -> None:
    x = ti.field(ti.i32, shape=4)

    @ti.kernel
    def look(at: int) -> int:
        return x[at]

    def work(n: int) -> None:
        for k in range(100):
            at = 100 * n + k
            if n % 2:
                with pytest.raises(ti.BoundsError, match=f"index {at} is outside"):
                    look(at)
            else:
                assert look(k % 4) == 0

    together(4, work)


def test_fields_are_made_while_others_tape() -> None:
    def work(n: int) -> bool:
        if n:
            for _ in range(300):
                made = ti.field(ti.f64, shape=3, needs_grad=True)
                made.grad.fill(1.0)
                assert made.grad.to_numpy().tolist() == [1.0, 1.0, 1.0]
            return True
        p = _program()
        p.x.fill(1.0)
        for _ in range(100):
            with ti.ad.Tape(p.loss):
                p.run(1.0)
            assert p.x.grad[0] == 2.0
        return True

    assert together(3, work) == [True] * 3


# ------------------------------------------------------------------ whose gradients a tape clears


def test_a_tape_leaves_the_gradients_of_other_threads() -> None:
    p, q = _program(), _program()
    p.x.fill(3.0)

    def other() -> None:
        q.x.fill(1.0)
        with ti.ad.Tape(q.loss):
            q.run(1.0)

    with ti.ad.Tape(p.loss):
        p.run(1.0)
    aside(other)
    assert p.x.grad.to_numpy().tolist() == [6.0] * 8
    assert q.x.grad.to_numpy().tolist() == [2.0] * 8


def test_a_tape_clears_what_another_thread_left_in_its_own_fields() -> None:
    p = _program()
    p.x.fill(3.0)

    def other() -> None:
        with ti.ad.Tape(p.loss):
            p.run(5.0)

    aside(other)
    assert p.x.grad[0] == 30.0
    with ti.ad.Tape(p.loss):
        p.run(1.0)
    assert p.x.grad.to_numpy().tolist() == [6.0] * 8


def test_gradients_of_other_threads_are_kept_where_it_is_wished() -> None:
    p = _program()
    p.x.fill(3.0)

    def other() -> None:
        with ti.ad.Tape(p.loss):
            p.run(5.0)

    aside(other)
    with ti.ad.Tape(p.loss, clear_gradients=False):
        p.run(1.0)
    assert p.x.grad.to_numpy().tolist() == [36.0] * 8


def test_a_forward_mode_leaves_the_tangents_of_other_threads() -> None:
    p, q = _program(), _program()
    p.x.fill(3.0)

    def forward(of: Any) -> float:
        with ti.ad.FwdMode(loss=of.loss, param=of.x, seed=np.ones(8)):
            of.run(1.0)
        return of.loss.dual[None]

    assert forward(p) == 48.0
    q.x.fill(1.0)
    assert aside(lambda: forward(q)) == 16.0
    assert p.loss.dual[None] == 48.0
    assert aside(lambda: forward(p)) == 48.0
    assert forward(q) == 16.0


def test_a_gradient_that_another_thread_wrote_over_says_so() -> None:
    p = _program()
    p.x.fill(3.0)

    def other() -> None:
        with ti.ad.Tape(p.loss):
            p.run(5.0)

    with ti.ad.Tape(p.loss):
        p.run(1.0)
    aside(other)
    with pytest.warns(ti.GradientWarning, match="another thread or task") as found:
        assert p.x.grad[0] == 30.0
    assert "`x.grad` was overwritten by another thread" in str(found[0].message)
    assert p.x.grad[0] == 30.0  # it is said once


def test_one_field_in_two_tapes_at_once_is_refused() -> None:
    p = _program()
    p.x.fill(3.0)

    def other() -> None:
        with ti.ad.Tape(p.loss):
            p.run(5.0)

    with ti.ad.Tape(p.loss):
        p.run(1.0)
        with pytest.raises(ti.GradientError, match="open in another thread or task") as refused:
            aside(other)
        assert "without needs_grad if only read" in str(refused.value)
    assert p.x.grad.to_numpy().tolist() == [6.0] * 8
    assert aside(lambda: other() or p.x.grad[0]) == 30.0  # one after the other they may


def test_what_another_thread_clears_meanwhile_is_not_ones_own() -> None:
    """Its note becomes 0 between any two looks at it."""
    others = itertools.cycle((aside(turns.current),) * 2 + (0,))

    class Changing(Field):
        touched = property(lambda _: next(others), lambda *_: None)  # type: ignore[assignment]

    dual = Changing(ti.f64, (), "x").companion(("dot",))
    dual.allocate(())
    assert not any(dual in begin_turn("dot") for _ in range(12))


def test_threads_of_a_pool() -> None:
    programs = [_program() for _ in range(8)]
    for n, p in enumerate(programs):
        p.x.fill(1.0 + n)

    def work(p: Any) -> float:
        with ti.ad.Tape(p.loss):
            p.run(1.0)
        return p.x.grad[0]

    with ThreadPoolExecutor(3) as pool:
        assert list(pool.map(work, programs)) == [2.0 + 2 * n for n in range(8)]


def test_a_gradient_that_another_thread_cleared_says_so() -> None:
    p, q = _program(), _program()

    def work() -> None:
        for program in (p, q):
            program.x.fill(1.0)
            with ti.ad.Tape(program.loss):
                program.run(1.0)

    aside(work)
    assert q.x.grad[0] == 2.0
    with pytest.warns(ti.GradientWarning, match="`x.grad` is 0: a tape .* in another thread or task"):
        assert p.x.grad[0] == 0.0
    assert p.x.grad[0] == 0.0  # it is said once


def test_a_check_of_a_gradient_leaves_other_threads_alone() -> None:
    def work(n: int) -> bool:
        p = _program()
        p.x.fill(1.0 + n)
        if n == 0:
            return bool(ti.check_grad(lambda: p.run(2.0), wrt=p.x, loss=p.loss))
        for k in range(100):
            with ti.ad.Tape(p.loss):
                p.run(1.0 + k)
            assert p.x.grad[0] == 2 * (1.0 + k) * (1.0 + n)
        return True

    assert together(3, work) == [True] * 3


def test_settings_may_change_while_others_run() -> None:
    stop = threading.Event()

    def work(n: int) -> bool:
        if n == 0:
            for _ in range(5):
                ti.init(default_fp=ti.f64)
            stop.set()
            return True
        p = _program()
        p.x.fill(1.0)
        while not stop.is_set():
            with ti.ad.Tape(p.loss):
                p.run(3.0)
            assert p.x.grad[0] == 6.0
        return True

    ti.init(default_fp=ti.f64)
    assert together(3, work) == [True] * 3
