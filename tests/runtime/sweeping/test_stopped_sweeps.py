"""Ctrl-C while a tape goes backwards."""

import itertools
import signal
import threading

import pytest

import dsim as ti
from dsim.backends.cpu.replay import LaunchTable
from dsim.runtime.saving.snapshots import SnapshotStore
from tests.runtime.taping import same, state, swings


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

    def announced(self, *rows):
        begun.set()
        table(self, *rows)

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


class Pressed:
    """Ctrl-C behind the n-th time that something is put back."""

    def __init__(self, monkeypatch, n):
        self.left, self.calls = n, 0
        restore = SnapshotStore.restore

        def restored(store, field, box, values):
            restore(store, field, box, values)
            self.calls += 1
            self.left -= 1
            if self.left == 0:
                raise KeyboardInterrupt

        monkeypatch.setattr(SnapshotStore, "restore", restored)


def times(monkeypatch, act):
    """Calls `act` with Ctrl-C at each place in turn, as often as it comes; each time yields, then at last."""
    for n in itertools.count(1):
        with monkeypatch.context() as patched:
            pressed = Pressed(patched, n)
            try:
                act()
            except KeyboardInterrupt:
                came = True
            else:
                came = False
        yield came
        if not came:
            assert n > pressed.calls > 3
            return


def recorded(loss, run, steps):
    with ti.ad.Tape(loss) as tape:
        for _ in tape.steps(range(3), slots=2) if steps else range(1):
            run()
    return tape


@pytest.mark.slow
@pytest.mark.parametrize("steps", [False, True])
def test_fields_are_put_back_wherever_it_comes(monkeypatch, steps):
    q, p, loss, run = swings()
    tape = recorded(loss, run, steps)
    before = state(q, p, loss)
    gradients = tape.gradient(q), tape.gradient(p)
    for _ in times(monkeypatch, lambda: tape.gradient(q)):
        assert same(state(q, p, loss), before)
        assert same((tape.gradient(q), tape.gradient(p)), gradients)
    for came in times(monkeypatch, tape.backward):
        assert same(state(q, p, loss)[:3], before[:3])
        assert came == (not q.grad.to_numpy().any() and not p.grad.to_numpy().any())
        tape.backward()
        assert same(state(q, p, loss), before)


@pytest.mark.parametrize("steps", [False, True])
def test_fields_are_as_at_the_end_of_a_block(monkeypatch, steps):
    q, p, loss, run = swings()
    begin = q.to_numpy(), p.to_numpy()
    recorded(loss, run, steps)
    before = state(q, p, loss)

    def again():
        q.from_numpy(begin[0])
        p.from_numpy(begin[1])
        recorded(loss, run, steps)

    for came in times(monkeypatch, again):
        assert same(state(q, p, loss)[:3], before[:3])
        assert came == (not q.grad.to_numpy().any() and not p.grad.to_numpy().any())


def test_gradients_that_are_kept_come_back(monkeypatch):
    q, p, loss, run = swings()
    with ti.ad.Tape(loss, clear_gradients=False) as tape:
        run()
    before = state(q, p, loss)
    for came in times(monkeypatch, tape.backward):
        assert came == same(state(q, p, loss), before)
