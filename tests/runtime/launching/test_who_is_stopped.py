"""The launch that an interrupt stops: in which thread, and under which signal handlers."""

from __future__ import annotations

import gc
import os
import signal
import sys
import threading

import pytest

import dsim as ti
from dsim.backends.cpu import stop
from tests.stopping import ctrl_c, press, wait_for_launch, watched

MANY = 10**12


@pytest.fixture(autouse=True)
def _doubles():
    ti.init(default_fp=ti.f64, default_ip=ti.i32)


def vector(n=1000, **options):
    return ti.field(ti.f64, shape=n, **options)


def spinning():
    n = ti.field(ti.i32, shape=())

    @ti.kernel
    def spin():
        n[None] = 1
        while n[None] > 0:
            n[None] = 1 + n[None] % 5

    return spin


class Worker(threading.Thread):
    """Launches, and keeps what comes of it."""

    def __init__(self, launch):
        super().__init__(daemon=True)
        self.launch = launch
        self.error = None

    def run(self):
        try:
            self.launch()
        except KeyboardInterrupt as stop:
            self.error = stop


def test_a_launch_of_another_thread_stops_when_asked():
    spin = spinning()
    worker = Worker(spin)
    assert not ti.stop_launch(worker)  # not started
    with watched():
        worker.start()
        wait_for_launch(worker)
        assert not ti.stop_launch()
        assert ti.stop_launch(worker)
        worker.join()
    assert "`spin` was stopped" in str(worker.error)
    assert not ti.stop_launch(worker)


def test_ctrl_c_does_not_stop_a_worker():
    spin, own = spinning(), spinning()
    worker = Worker(spin)
    with watched():
        worker.start()
        wait_for_launch(worker)
        with pytest.raises(KeyboardInterrupt), ctrl_c():
            own()
        timer = threading.Timer(0.1, press)
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            worker.join()
        assert worker.error is None
        assert ti.stop_launch(worker)
        worker.join()


def test_a_flag_does_not_outlast_its_launch():
    spin, other = spinning(), spinning()
    n = ti.field(ti.i32, shape=())

    @ti.kernel
    def count(to: ti.i32):
        n[None] = 0
        while n[None] < to:
            n[None] += 1

    for kernel in (spin, other, spin):
        with pytest.raises(KeyboardInterrupt), ctrl_c():
            kernel()
        with pytest.raises(KeyboardInterrupt):
            (press(), count(3))
        count(1000)
        assert n[None] == 1000


def test_an_interrupt_between_launches_does_not_stop_the_next_one():
    n = ti.field(ti.i32, shape=())

    @ti.kernel
    def count(to: ti.i32):
        n[None] = 0
        while n[None] < to:
            n[None] += 1

    stopped = []

    def again():
        with pytest.raises(KeyboardInterrupt):
            press()
        try:  # as a program that saves what it has
            count(3_000_000)  # long enough for the thread that listens, which has to wait for Python
        except KeyboardInterrupt:
            stopped.append(n[None])

    count(3)
    for _ in range(20):
        again()
    assert stopped == []
    assert n[None] == 3_000_000


def test_a_handler_that_goes_on_lets_the_first_interrupt_wait():
    told = []
    before = signal.signal(signal.SIGINT, lambda *_: told.append("heard"))
    try:
        n = ti.field(ti.i32, shape=())

        @ti.kernel
        def until_told():
            n[None] = 1
            while n[None] > 0:
                n[None] = 1 + n[None] % 5

        with pytest.raises(KeyboardInterrupt, match="`until_told` was stopped"), ctrl_c(times=2):
            until_told()
    finally:
        signal.signal(signal.SIGINT, before)
    assert told[:1] == ["heard"]


def test_a_handler_that_raises_is_what_comes_out():
    class LeaveError(Exception):
        pass

    def leave(*_):
        raise LeaveError

    before = signal.signal(signal.SIGINT, leave)
    try:
        with pytest.raises(LeaveError), ctrl_c(times=2):
            spinning()()
    finally:
        signal.signal(signal.SIGINT, before)


def test_ignored_interrupts_stop_nothing():
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    n = ti.field(ti.i32, shape=())

    @ti.kernel
    def wait():
        while n[None] == 0:
            pass

    def tell():
        press()
        ti.stop_launch()

    try:
        with pytest.raises(KeyboardInterrupt), ctrl_c(act=tell):
            wait()
    finally:
        signal.signal(signal.SIGINT, before)


def test_who_listened_to_signals_before_still_does():
    mine, theirs = os.pipe()
    os.set_blocking(theirs, False)
    ours = signal.set_wakeup_fd(theirs)
    try:
        with pytest.raises(KeyboardInterrupt), ctrl_c():
            spinning()()  # compiled now: it takes its place again
        assert os.read(mine, 10) == bytes([signal.SIGINT])
    finally:
        signal.set_wakeup_fd(ours)
        stop._LISTENER._before = -1
        os.close(mine)
        os.close(theirs)


def test_nothing_is_collected_while_frames_are_looked_at(monkeypatch):
    """In CPython 3.11 a collection there can wait for ever for a lock, or end the process."""
    looks, seen = sys._current_frames, []

    def look():
        seen.append(gc.isenabled())
        return looks()

    monkeypatch.setattr(sys, "_current_frames", look)
    assert not ti.stop_launch(threading.main_thread())
    assert seen == [False]
    assert gc.isenabled()


def test_a_word_is_no_thread():
    with pytest.raises(ti.DsimError, match="`stop_launch` takes a thread, not str"):
        ti.stop_launch("main")
