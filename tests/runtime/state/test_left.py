"""Ctrl-C while a block is left, at every moment at which Python notices it; blocks that nobody leaves."""

from __future__ import annotations

import signal
import sys
import threading
from itertools import count

import pytest

import dsim as ti
from dsim.runtime.launching.contexts import Stopped
from tests.runtime.threading_together import aside


class PressedWhileLeaving:
    """Presses Ctrl-C at one of the calls made while a block is left: where Python handles signals."""

    def __init__(self, at):
        self._at, self._leaving = at, None
        self.pressed = False

    def __call__(self, frame, event, _argument):
        if event == "call" and self._leaving is None and frame.f_code.co_name == "__exit__":
            self._leaving = frame
        elif event == "call" and self._leaving is not None and not self.pressed:
            self._at -= 1
            if self._at < 0:
                self.pressed = True
                sys.settrace(None)
                signal.raise_signal(signal.SIGINT)


@pytest.mark.parametrize("kind", ["a tape", "a tape with a budget", "forward mode", "constants"])
def test_ctrl_c_while_a_block_is_left(kind):
    x = ti.field(ti.f64, shape=4, needs_grad=True)
    loss = ti.field(ti.f64, shape=(), needs_grad=True)

    @ti.kernel
    def grow():
        for i in x:
            x[i] = x[i] ** 2

    @ti.kernel
    def total():
        for i in x:
            loss[None] += x[i] ** 2

    def run():
        grow()
        grow()
        total()

    blocks = {
        "a tape": lambda: ti.Tape(loss),
        "a tape with a budget": lambda: ti.Tape(loss, budget="1kB"),
        "forward mode": lambda: ti.FwdMode(loss, x, seed=[1.0] * 4),
        "constants": Stopped,
    }
    tracing = sys.gettrace()
    for at in count():
        press = PressedWhileLeaving(at)
        x.fill(1.0)
        try:
            with blocks[kind]():
                run()
                sys.settrace(press)
        except KeyboardInterrupt:
            pass
        finally:
            sys.settrace(tracing)
        with ti.Tape(loss):
            run()
        assert x.grad.to_numpy().tolist() == [8.0] * 4, at
        if not press.pressed:
            break
    assert at > 2


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["tape", "forward mode"])
def test_a_block_ends_with_its_thread(kind):
    x = ti.field(ti.f64, shape=8, needs_grad=True)
    loss = ti.field(ti.f64, shape=(), needs_grad=True)

    @ti.kernel
    def total(c: float):
        for i in x:
            loss[None] += c * x[i] ** 2

    def never_left():
        block = ti.Tape(loss) if kind == "tape" else ti.FwdMode(loss, x, seed=[1.0] * 8)
        block.__enter__()
        total(1.0)

    def gradient():
        with ti.Tape(loss):
            total(2.0)
        return x.grad.to_numpy().tolist()

    x.fill(3.0)
    abandoned = threading.Thread(target=never_left)
    abandoned.start()
    abandoned.join()
    assert aside(gradient) == [12.0] * 8  # its thread may have the identifier of the one that has ended
    assert gradient() == [12.0] * 8
    loss[None] = 0.0
    with ti.FwdMode(loss, x, seed=[1.0] * 8):
        total(2.0)
    assert loss.dual[None] == 96.0
