"""Ctrl-C at any moment of a transform: the user's fields, gradients and arrays are as they were."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import dsim as ds
from tests.runtime.transforms.interrupted import TRANSFORMS, Program

CHECKOUT = Path(__file__).parents[3]


@pytest.mark.slow
def test_nothing_of_the_users_is_lost():
    command = [sys.executable, "-m", "tests.runtime.transforms.interrupted"]
    ran = subprocess.run(command, cwd=CHECKOUT, capture_output=True, text=True, check=False)
    assert ran.stdout == f"{len(TRANSFORMS)} transforms\n", ran.stderr


def test_the_users_own_code_is_interrupted_at_once():
    p = Program()
    p.begin()
    before, seen = p.state(), []

    def run():
        p.run()
        signal.raise_signal(signal.SIGINT)
        seen.append("after")

    with pytest.raises(KeyboardInterrupt):
        ds.grad(run, wrt=p.x, out=p.loss)()
    assert (seen, p.state()) == ([], before)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_time_limit_of_the_users_is_a_signal_too():
    p = Program()
    p.begin()
    before, handled = p.state(), signal.getsignal(signal.SIGALRM)

    class TooLongError(Exception):
        pass

    def late(*_):
        raise TooLongError

    def run():
        # Again each second: what a handler raises while Python calls a weak reference's function is lost.
        signal.setitimer(signal.ITIMER_REAL, 0.01, 1.0)
        ends = time.monotonic() + 20
        while time.monotonic() < ends:
            p.run()

    signal.signal(signal.SIGALRM, late)
    try:
        with pytest.raises(TooLongError):
            ds.grad(run, wrt=p.x, out=p.loss)()
        assert signal.getsignal(signal.SIGALRM) is late
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, handled)
    assert p.state() == before


def test_handlers_that_the_run_sets_stay():
    p = Program()
    p.begin()
    handled = signal.getsignal(signal.SIGINT)

    def own(*_):
        pass

    def run():
        signal.signal(signal.SIGINT, own)
        p.run()

    try:
        ds.grad(run, wrt=p.x, out=p.loss)()
        assert signal.getsignal(signal.SIGINT) is own
    finally:
        signal.signal(signal.SIGINT, handled)
