"""Ctrl-C inside of a launch: it stops, what it leaves is told, and the next launch works."""

from __future__ import annotations

import os
import signal
import threading
from contextlib import ExitStack, contextmanager
from dataclasses import replace

import numpy as np
import pytest

import dsim as ti
from dsim.backends.cpu import stop
from dsim.runtime.state import settings
from tests.runtime.taping import taped
from tests.stopping import ctrl_c, press, wait_for_launch, watched

MANY = 10**12


@pytest.fixture(autouse=True)
def _doubles():
    ti.init(default_fp=ti.f64, default_ip=ti.i32)


def vector(n=1000, **options):
    return ti.field(ti.f64, shape=n, **options)


def endless():
    z = ti.field(ti.i32, shape=4)

    @ti.kernel
    def endless(limit: ti.i64):
        for i in z:
            n = 1
            while n > 0 and n < limit:
                n = 1 + n % 5
            z[i] = n

    return endless, lambda: z.to_numpy().tolist() == [2] * 4, 2


def endless_at_the_top():
    z = ti.field(ti.i32, shape=())

    @ti.kernel
    def endless_at_the_top(limit: ti.i64):
        z[None] = 1
        while z[None] < limit:
            z[None] = 1 + z[None] % 5

    return endless_at_the_top, lambda: z[None] == 3, 3


def of_floats():
    z = ti.field(ti.f64, shape=())

    @ti.kernel
    def of_floats(limit: ti.i64):
        a = 1.0
        while a * limit >= limit:
            a = 0.5 * (a + 1.0)
            if limit == 7:
                a = 0.0
        z[None] = a

    return of_floats, lambda: z[None] == 0, 7


def with_a_break():
    z = ti.field(ti.i64, shape=())

    @ti.kernel
    def with_a_break(trips: ti.i64):
        for _ in range(1):
            n = ti.i64(0)
            for i in range(trips):
                n = (n * 5 + i) % 1000003
                if n < 0:
                    break
            z[None] = n

    return with_a_break, lambda: z[None] == 7, 3


def recurrence():
    z = ti.field(ti.f64, shape=())

    @ti.kernel
    def recurrence(trips: ti.i64):
        for _ in range(1):
            a = 0.0
            for i in range(trips):
                a = 0.5 * a + i
            z[None] = a

    return recurrence, lambda: z[None] == 1, 2


def nested():
    z = ti.field(ti.i64, shape=())

    @ti.kernel
    def nested(trips: ti.i64):
        for i in range(trips):
            for j in range(trips):
                z[None] = i + j

    return nested, lambda: z[None] == 4, 3


def downwards():
    x = vector(8)

    @ti.kernel
    def downwards(trips: ti.i64):
        for _ in range(1):
            for i in range(trips, 0, -3):
                x[i % 8] = i

    return downwards, lambda: [x[i] for i in (4, 1, 6, 3)] == [12, 9, 6, 3], 12


def in_parallel():
    x = vector()

    @ti.kernel
    def in_parallel(trips: ti.i64):
        ti.loop_config(parallel=True)
        for i in range(trips):
            x[i % 1000] = i

    return in_parallel, lambda: x.to_numpy().tolist() == [*range(1000)], 1000


def a_sum():
    total = []

    @ti.kernel
    def a_sum(trips: ti.i64) -> float:
        s = 0.0
        for i in range(trips):
            s += 0.5 * i
        return s

    def run(trips):
        total.append(a_sum(trips))

    return run, lambda: total == [249750], 1000


def into_a_field():
    x, total = vector(), ti.field(ti.f64, shape=())
    x.fill(1.0)

    @ti.kernel
    def into_a_field(trips: ti.i64):
        for i in range(trips):
            total[None] += x[i % 1000]

    def check():
        return total[None] >= 5000  # with what was added before it was stopped

    return into_a_field, check, 5000


KINDS = [
    endless, endless_at_the_top, of_floats, with_a_break, recurrence, nested, downwards, in_parallel, a_sum,
    into_a_field,
]  # fmt: skip


@pytest.mark.filterwarnings("ignore::dsim.DsimWarning")
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("kind", KINDS)
def test_a_launch_stops_and_the_next_one_works(kind, threads):
    ti.init(default_fp=ti.f64, cpu_max_num_threads=threads)
    launch, done, few = kind()
    with pytest.raises(KeyboardInterrupt, match=f"`{kind.__name__}` was stopped before its end"), ctrl_c():
        launch(MANY)
    launch(few)
    assert done()


@pytest.mark.parametrize("backend", ["cpu", "reference"])
def test_a_loop_that_never_ends_is_not_left_out(backend):
    settings.change(replace(settings.current(), backend=backend))
    z = ti.field(ti.i32, shape=())

    @ti.func
    def spin(n):
        while n > 0:
            n = 1 + n % 5
        return 0

    @ti.kernel
    def nobody_reads_it():
        n = 1
        while n > 0:
            n = 1 + n % 5
        z[None] = 7

    @ti.kernel
    def nobody_reads_the_func():
        spin(1)
        z[None] = 7

    for kernel in (nobody_reads_it, nobody_reads_the_func):
        with pytest.raises(KeyboardInterrupt), ctrl_c() if backend == "cpu" else soon():
            kernel()
        assert z[None] == 0


@contextmanager
def soon():
    """Ctrl-C after a while."""
    timer = threading.Timer(1.0, press)
    with watched():
        timer.start()
        yield


def swinging(n=8):
    """A kernel that changes its state in place, trip by trip, and a loss."""
    x = vector(n, needs_grad=True)
    x.from_numpy(np.linspace(0.5, 2.5, n))
    loss = ti.field(ti.f64, shape=(), needs_grad=True)

    @ti.kernel
    def swing(trips: ti.i64):
        for _ in range(1):
            for t in range(trips):
                i = ti.cast(t % 8, ti.i32)
                x[i] = x[i] + 1e-3 * ti.sin(x[(i + 1) % 8])

    @ti.kernel
    def total():
        for i in x:
            loss[None] += x[i] ** 2

    return x, loss, swing, total


def bits(*fields):
    return [f.to_numpy().tobytes() for f in fields]


def backward_stopped(loss, run, *fields, **options):
    """Runs under a tape that is stopped while it goes backwards; what the fields were when that began."""
    before = []

    def block(pressed):
        with ti.Tape(loss, **options):
            run()
            before.extend(bits(*fields))
            pressed.enter_context(ctrl_c())

    with ExitStack() as pressed, pytest.raises(KeyboardInterrupt, match="`swing` was stopped"):
        block(pressed)
    return before


@pytest.mark.filterwarnings("ignore::dsim.DsimWarning")
def test_a_stopped_backward_pass_puts_the_fields_back():
    x, loss, swing, total = swinging()
    before = backward_stopped(loss, lambda: (swing(3), swing(3_000_000), total()), x, loss)
    assert bits(x, loss) == before
    assert not x.grad.to_numpy().any()
    with ti.Tape(loss):
        swing(3)
        total()
    assert np.isfinite(x.grad.to_numpy()).all()
    assert x.grad.to_numpy().any()


@pytest.mark.filterwarnings("ignore::dsim.DsimWarning")
def test_a_stopped_backward_pass_leaves_the_gradients_of_before():
    x, loss, swing, total = swinging()
    x.grad.fill(3.0)
    backward_stopped(loss, lambda: (swing(3_000_000), total()), clear_gradients=False)
    assert (x.grad.to_numpy() == 3).all()


@pytest.mark.filterwarnings("ignore::dsim.DsimWarning")
def test_a_tape_in_which_a_launch_was_stopped_gives_no_gradient():
    x, loss, swing, total = swinging()
    x.grad.fill(3.0)
    with pytest.raises(KeyboardInterrupt), ctrl_c(), ti.Tape(loss):
        swing(MANY)
    assert not x.grad.to_numpy().any()

    def caught():
        with pytest.raises(KeyboardInterrupt), ctrl_c():
            swing(MANY)
        total()

    with pytest.raises(ti.GradientError, match="no gradient of half a launch"):
        taped(loss, caught)


@pytest.mark.filterwarnings("ignore::dsim.DsimWarning")
def test_an_adjoint_by_itself_stops():
    x, y = vector(8, needs_grad=True), vector(8, needs_grad=True)

    @ti.kernel
    def waves(trips: ti.i64):
        for i in x:
            a = x[i]
            for _ in range(trips):
                a = ti.sin(a)
            y[i] = a

    y.grad.fill(1.0)
    before = bits(x, y)
    with pytest.raises(KeyboardInterrupt), ctrl_c():
        waves.grad(MANY)
    assert bits(x, y) == before
    waves(2)
    y.grad.fill(1.0)
    x.grad.fill(0.0)
    waves.grad(2)
    assert x.grad.to_numpy().tolist() == [1.0] * 8


@pytest.mark.filterwarnings("ignore::dsim.DsimWarning")
def test_forward_mode_stops():
    x, loss, swing, total = swinging()
    with pytest.raises(KeyboardInterrupt), ctrl_c(), ti.FwdMode(loss, x, seed=[1.0] * 8):
        swing(MANY)
    swing(2)
    with ti.FwdMode(loss, x, seed=[1.0] * 8):
        total()
    assert loss.dual[None] == pytest.approx(2 * x.to_numpy().sum())


@pytest.mark.filterwarnings("ignore::dsim.DsimWarning")
def test_check_grad_stops_with_everything_as_it_was():
    x, loss, swing, total = swinging()
    trips = [10]

    def run():
        swing(trips[0])
        trips[0] = MANY
        total()

    before = bits(x)
    with pytest.raises(KeyboardInterrupt), ExitStack() as later:
        ti.check_grad(lambda: (trips[0] == MANY and later.enter_context(ctrl_c()), run()), [x], loss)
    assert bits(x) == before


def test_what_needs_a_value_that_is_missing_does_not_run():
    x, n = vector(4), ti.field(ti.i32, shape=())
    n[None] = 2**31 - 1

    @ti.kernel
    def lacking():
        for _ in range(1):
            big = 0.0
            m = n[None]
            while m > 0:
                m = 1 + m % 5
            x[0] = big + m
        for i in range(4):
            x[i] = 7.0

    with pytest.raises(KeyboardInterrupt), ctrl_c():
        lacking()
    assert not x.to_numpy().any()


# ------------------------------------------------------------------ who is stopped


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


@pytest.mark.parametrize(("to", "asks"), [(10, False), (10**9, True)])
def test_a_short_counter_does_not_ask(to, asks):
    x = vector(8)

    @ti.kernel
    def roots():
        for i in x:
            a, n = 1.0, 0
            while n < to:
                a = 0.5 * (a + 2.0 / a)
                n += 1
            x[i] = a

    assert ("load volatile" in roots.primal.llvm) == asks
