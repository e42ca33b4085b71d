"""Ctrl-C at every moment at which Python notices it while a block is left: blocks after it work."""

from __future__ import annotations

import signal
import sys
from itertools import count

import pytest

import dsim as ti
from dsim.runtime.launching.contexts import Stopped


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
