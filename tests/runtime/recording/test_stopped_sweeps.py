"""Ctrl-C while a table of adjoints runs."""

import signal
import threading

import pytest

import dsim as ti
from dsim.backends.cpu.replay import LaunchTable


@pytest.fixture(autouse=True)
def _fresh():
    ti.init(default_fp=ti.f64, deterministic=True)


def test_ctrl_c_stops_the_table(monkeypatch):
    x = ti.field(ti.f64, shape=4, name="x", needs_grad=True)
    y = ti.field(ti.f64, shape=(), name="y", needs_grad=True)
    rounds = ti.field(ti.i64, shape=(), name="rounds")

    @ti.kernel
    def long(t: ti.i32):
        for i in x:
            s = x[i]
            for _ in range(rounds[None]):
                s = ti.sin(s)
            y[None] += s

    def run():
        for t in range(9):
            long(t)

    rounds[None] = 2
    for _ in range(2):
        with ti.ad.Tape(y):
            run()
    rounds[None] = 300_000
    main, begun = threading.main_thread().ident, threading.Event()

    def interrupt():
        assert begun.wait(60)
        signal.pthread_kill(main, signal.SIGINT)

    table = LaunchTable.run

    def announced(self):
        begun.set()
        table(self)

    monkeypatch.setattr(LaunchTable, "run", announced)
    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(KeyboardInterrupt), ti.ad.Tape(y):
        run()
    thread.join()
    assert x.grad[0] == 0.0
    rounds[None] = 0
    with ti.ad.Tape(y):
        run()
    assert x.grad[0] == 9.0
