"""Errors and Ctrl-C in the middle of a replay: what ran before has run, what comes after has not."""

import signal
import threading
import time

import pytest

import dsim as ti


@pytest.fixture(autouse=True)
def _fresh():
    ti.init(default_fp=ti.f64)


def counting():
    x = ti.field(ti.i64, shape=(), name="x")
    at = ti.field(ti.i64, shape=(), name="at")
    table = ti.field(ti.f64, shape=8, name="table")

    @ti.kernel
    def count():
        x[None] += 1

    @ti.kernel
    def note():
        table[at[None]] = 1.0

    @ti.kernel
    def mark(k: ti.i32):
        table[k] = 2.0

    @ti.kernel
    def insist(k: ti.i32):
        assert x[None] < 10, f"x is {x[None]} in step {k}"

    @ti.kernel
    def long():
        while at[None] > 0:
            x[None] += 1

    return x, at, table, count, note, mark, insist, long


def test_an_index_out_of_bounds():
    x, at, _, count, note, *_ = counting()
    g = ti.graph(lambda: [count(), note(), count()])
    x[None], at[None] = 0, 9
    with pytest.raises(ti.BoundsError, match=r"(?s)`table`.*9.*table\[at\[None\]\] = 1.0"):
        g()
    assert x[None] == 1
    at[None] = 2
    g()
    assert x[None] == 3


def test_arguments_out_of_bounds_are_checked():
    _, _, table, _, _, mark, *_ = counting()
    g = ti.graph(lambda: [mark(k) for k in range(8)])
    g()
    assert table.to_numpy().tolist() == [2.0] * 8
    with pytest.raises(ti.BoundsError):
        ti.graph(lambda: [mark(k) for k in range(9)])


def test_an_assertion():
    x, _, _, count, _, _, insist, _ = counting()
    g = ti.graph(lambda: [(insist(k), count()) for k in range(4)])
    x[None] = 7
    with pytest.raises(ti.KernelAssertionError, match="x is 10 in step 3"):
        g()
    assert x[None] == 10


def test_a_failed_replay_in_a_tape_has_no_gradient():
    x, y = (ti.field(ti.f64, shape=(), needs_grad=True, name=name) for name in "xy")

    @ti.kernel
    def insist():
        assert x[None] > 0
        y[None] += x[None]

    x[None] = 1.0
    g = ti.graph(insist)
    x[None] = -1.0
    with pytest.raises(ti.KernelAssertionError), ti.ad.Tape(y):
        g()
    x[None] = 1.0
    with ti.ad.Tape(y):
        g()
    assert x.grad[None] == 1.0


@pytest.mark.parametrize("where", [pytest.param("between", marks=pytest.mark.slow), "inside"])
def test_ctrl_c(where):
    x, at, _, count, _, _, _, long = counting()
    if where == "between":
        g = ti.graph(lambda: [count() for _ in range(1000)])
        graphs = ti.graph(lambda: [g() for _ in range(1000)])
    else:
        graphs = ti.graph(lambda: [count(), long(), count()])
    at[None] = 0
    graphs()
    x[None], at[None] = 0, 1
    counted = x.require_memory()

    def press():
        while not counted[()]:  # a busy machine may be slow to begin
            time.sleep(0.001)
        time.sleep(0.2)
        signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)

    killed = threading.Thread(target=press)
    killed.start()

    def again():
        while True:
            graphs()

    with pytest.raises(KeyboardInterrupt):
        again()
    killed.join()
    assert x[None] > 0
    at[None] = 0
    x[None] = 0
    graphs()
    assert x[None] == (1_000_000 if where == "between" else 2)


def test_stop_launch():
    x, at, _, count, _, _, _, long = counting()
    at[None] = 0
    g = ti.graph(lambda: [count(), long(), count()])
    x[None], at[None] = 0, 1
    found = []

    def work():
        try:
            g()
        except KeyboardInterrupt as error:
            found.append(str(error))

    thread = threading.Thread(target=work)
    thread.start()
    while thread.is_alive():
        ti.stop_launch(thread)
    assert "stopped before its end" in found[0]
