"""Launches in several threads: their output, random numbers and warnings, and concurrent forks."""

from __future__ import annotations

import multiprocessing
import os
import sys
import threading
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import dsim as ti
from dsim.backends.prints import silent
from dsim.runtime.state import randomness, settings
from dsim.runtime.state.notices import overheard
from tests.runtime.threading_together import aside, together


class _Refusing:
    """A standard output that takes nothing from one thread."""

    def __init__(self, refused: int) -> None:
        self.refused = refused
        self.taken: list[str] = []

    def write(self, text: str) -> None:
        if threading.get_ident() == self.refused:
            raise OSError("no room")
        self.taken.append(text)


def _speaking() -> Any:
    @ti.kernel
    def say(n: int):
        print("n is", n)

    return say


def test_an_error_in_printing_is_that_of_its_own_launch(monkeypatch: pytest.MonkeyPatch) -> None:
    say, out, hook = _speaking(), _Refusing(0), sys.unraisablehook
    monkeypatch.setattr(sys, "stdout", out)

    def work(n: int) -> int:
        failed = 0
        if n == 0:
            out.refused = threading.get_ident()
        for k in range(100):
            try:
                say(1000 * n + k)
            except OSError:
                failed += 1
        return failed

    failed = together(2, work)
    monkeypatch.undo()
    assert failed == [100, 0]
    assert sorted(out.taken) == [f"n is {k}\n" for k in range(1000, 1100)]
    assert sys.unraisablehook is hook


def test_one_error_in_the_prints_of_a_launch_stops_it_and_not_the_next(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    @ti.kernel
    def say(times: int):
        for _ in range(1):
            for k in range(times):
                print(k)

    out = _Refusing(threading.get_ident())
    monkeypatch.setattr(sys, "stdout", out)
    with pytest.raises(OSError, match="no room"):
        say(3)
    out.refused = 0
    say(2)
    monkeypatch.undo()
    assert out.taken == ["0\n", "1\n"]


@pytest.mark.parametrize("backend", ["cpu", "reference"])
def test_silence_is_that_of_a_thread(capsys: pytest.CaptureFixture[str], backend: str) -> None:
    settings.change(replace(settings.current(), backend=backend))
    say = _speaking()
    with silent():
        say(1)
        aside(lambda: say(2))
    say(3)
    settings.change(replace(settings.current(), backend="cpu"))
    assert capsys.readouterr().out == "n is 2\nn is 3\n"


def test_warnings_are_overheard_in_their_own_thread() -> None:
    x = ti.field(ti.f64, shape=3)

    def serial() -> Any:
        @ti.kernel
        def chain():
            for i in range(1, 3):
                x[i] = x[i - 1]

        return chain

    with overheard() as heard:
        with pytest.warns(ti.DsimWarning, match="serial"):
            aside(serial())
        assert not heard
        serial()()
    assert [d.code for d in heard] == ["serial"]


def test_a_gradient_goes_back_through_the_numbers_that_its_own_thread_drew() -> None:
    @ti.kernel
    def draw(x: ti.template(), y: ti.template()):
        y[None] = ti.random(ti.f64) * x[None]

    def fields() -> tuple[Any, Any]:
        return tuple(ti.field(ti.f64, shape=(), needs_grad=True) for _ in range(2))  # type: ignore[return-value]

    shared = fields()

    def work(n: int) -> None:
        x, y = fields() if n else shared
        for _ in range(100):
            x[None] = 1.0
            draw(x, y)
            y.grad[None] = 1.0
            x.grad[None] = 0.0
            draw.grad(x, y)
            assert x.grad[None] == y[None]

    together(3, work)

    x, y = shared
    draw(x, y)
    drawn = y[None] / x[None]
    aside(lambda: draw(x, y))
    y.grad[None], x.grad[None] = 1.0, 0.0
    draw.grad(x, y)
    assert x.grad[None] == pytest.approx(drawn, rel=1e-15)


def test_numbers_are_drawn_once() -> None:
    drawn = together(4, lambda _: [randomness.next_launch() for _ in range(500)])
    assert len({n for numbers in drawn for n in numbers}) == 2000


def test_what_is_drawn_apart_is_not_missing_elsewhere() -> None:
    ti.init(random_seed=3)
    first = [randomness.next_launch() for _ in range(4)]
    ti.init(random_seed=3)
    with randomness.apart():
        where = randomness.place()
        assert [randomness.next_launch() for _ in range(2)] == first[:2]
        assert aside(lambda: [randomness.next_launch() for _ in range(2)]) == first[:2]
        randomness.return_to(where)
        assert randomness.next_launch() == first[0]
    assert randomness.next_launch() == first[2]


# ------------------------------------------------------------------ one kernel, arrays of each thread


@ti.kernel
def _in_parts(x: ti.types.ndarray(), y: ti.types.ndarray(), loss: ti.types.ndarray()):
    a = ti.sin(x[0]) * x[1]
    for i in range(3):
        y[i] = a * x[i]
    for i in range(3):
        x[i] = ti.sin(x[i]) * y[i] * a
        loss[None] += x[i]


def _value(x: np.ndarray) -> float:
    a = np.sin(x[0]) * x[1]
    return float(np.sum(np.sin(x) * a * x * a))


def _difference(x: np.ndarray) -> np.ndarray:
    steps = 1e-6 * np.eye(3)
    return np.array([(_value(x + step) - _value(x - step)) / 2e-6 for step in steps])


@pytest.mark.parametrize("mode", ["tape", "forward over reverse"])
def test_what_goes_from_part_to_part_is_each_threads_own(mode: str) -> None:
    """The kernel is recorded in parts, since it writes over what its adjoint reads."""
    meet = threading.Barrier(3)

    def work(n: int) -> Any:
        x, y = (ti.ndarray(ti.f64, shape=3, needs_grad=True) for _ in range(2))
        loss = ti.ndarray(ti.f64, shape=(), needs_grad=True)
        found = []
        for _ in range(3):
            values = np.array([0.5, 0.7, 0.9]) + 0.1 * n
            x.from_numpy(values)
            loss.fill(0.0)

            def taped() -> None:
                with ti.ad.Tape(loss):
                    _in_parts(x, y, loss)
                    meet.wait(20)

            if mode == "forward over reverse":
                with ti.ad.FwdMode(loss=loss, param=x, seed=np.ones(3)):
                    taped()
                slope = loss.dual[None]
                assert slope == pytest.approx(_difference(values).sum(), rel=1e-7)
            else:
                taped()
            found.append(np.max(np.abs(x.grad.to_numpy() - _difference(values))))
        return max(found)

    assert max(together(3, work)) < 1e-7


@pytest.mark.filterwarnings("ignore:.*is a NumPy array")
def test_what_goes_from_part_to_part_of_numpy_arrays() -> None:
    factor = np.array([0.5, 0.7, 0.9])
    meet = threading.Barrier(2)

    @ti.kernel
    def of_numpy(w: ti.template(), x: ti.types.ndarray(), y: ti.types.ndarray(), loss: ti.template()):
        a = ti.sin(w[None]) * w[None]
        for i in range(3):
            x[i] = a * y[i]
        for i in range(3):
            y[i] = ti.sin(y[i]) * x[i] * a
            loss[None] += y[i]

    def work(n: int) -> Any:
        w, loss = (ti.field(ti.f64, shape=(), needs_grad=True) for _ in range(2))
        w[None] = at = 0.6 + n
        x, y = np.zeros(3), factor.copy()
        with ti.ad.Tape(loss):
            of_numpy(w, x, y, loss)
            meet.wait(20)
        slope = 2 * np.sin(at) * at * (np.sin(at) + at * np.cos(at)) * np.sum(np.sin(factor) * factor)
        return w.grad[None] / slope

    assert together(2, work) == pytest.approx([1.0, 1.0], rel=1e-12)


# ------------------------------------------------------------------ processes


def _gradient() -> float:
    x = ti.field(ti.f64, shape=64, needs_grad=True)
    loss = ti.field(ti.f64, shape=(), needs_grad=True)

    @ti.kernel
    def squares():
        for i in x:
            loss[None] += x[i] ** 2

    x.fill(3.0)
    with ti.ad.Tape(loss):
        squares()
    return float(np.mean(x.grad.to_numpy()))


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_a_child_that_is_forked_while_others_compile() -> None:
    """The child finds no lock taken, whatever its parent's threads were at."""
    stop = threading.Event()

    def compiles() -> None:
        while not stop.is_set():
            _gradient()

    thread = threading.Thread(target=compiles, daemon=True)
    thread.start()
    try:
        for _ in range(3):
            child = os.fork()
            if child == 0:
                os._exit(0 if _gradient() == 6.0 else 1)
            assert os.waitpid(child, 0)[1] == 0
    finally:
        stop.set()
        thread.join(60)


@pytest.mark.slow
def test_a_process_that_is_spawned() -> None:
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.apply_async(_gradient).get(120) == 6.0
