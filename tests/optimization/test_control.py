"""Pauses, stops and what comes after them; in a thread and without one."""

import threading

import numpy as np
import pytest

import dsim as ds
from dsim.diagnostics import GradientError
from tests.optimization.programs import Steps, endless, quadratic, rosenbrock, until
from tests.stopping import wait_for_launch, watched


@pytest.fixture(autouse=True)
def _fresh():
    ds.init(default_fp=ds.f64)
    with watched():
        yield


def begun(method, at=5, steps=12, **given):
    """An optimisation in a thread that is held in the step `at`."""
    x, y, run = rosenbrock()
    held = Steps(at)
    made = ds.optimize(
        run, x, y, method=method, steps=steps, callback=held, progress=False, background=True, **given
    )
    assert held.there.wait(60)
    return x, made, held


def straight(method, steps=12):
    """The history without interruptions."""
    x, y, run = rosenbrock()
    return ds.optimize(run, x, y, method=method, steps=steps, progress=False).history


def test_in_a_thread_it_does_what_it_does_without_one():
    x, y, run = rosenbrock()
    made = ds.optimize(run, x, y, progress=False, background=True)
    assert made.wait()
    assert made.status == "finished"
    there = made.history
    x.fill(0.0)
    np.testing.assert_array_equal(there["loss"], straight("L-BFGS-B", 100)["loss"])


@pytest.mark.parametrize("method", ["Adam", "momentum", "L-BFGS-B", "trust-krylov"])
def test_after_a_pause_it_goes_on_exactly_there(method):
    x, made, held = begun(method)
    made.pause()
    assert (made.status, made.pending) == ("running", "pause")
    held.go_on.set()
    until(lambda: made.status == "paused")
    assert made.done == 5
    np.testing.assert_array_equal(x.to_numpy(), made.best.parameters)
    assert not made.wait(0.0)
    made.resume()
    assert made.wait()
    np.testing.assert_array_equal(made.history["loss"], straight(method)["loss"])


@pytest.mark.slow
def test_a_pause_right_after_the_end_of_one():
    _, made, held = begun("Adam", at=1, steps=500)
    made.pause()
    held.go_on.set()
    until(lambda: made.status == "paused")
    for _ in range(20):
        made.resume()
        made.pause()  # the thread may not have gone on yet
    until(lambda: made.status == "paused")
    made.resume()
    assert made.wait()
    np.testing.assert_array_equal(made.history["loss"], straight("Adam", 500)["loss"])


@pytest.mark.parametrize("method", ["descent", "Adam", "momentum"])
def test_methods_of_first_order_go_on_after_a_stop_as_if_nothing_had_been(method):
    x, made, held = begun(method)
    stopping = threading.Thread(target=made.stop)
    stopping.start()
    until(lambda: made.pending == "stop")
    held.go_on.set()
    stopping.join()
    assert (made.status, made.done) == ("stopped", 5)
    np.testing.assert_array_equal(x.to_numpy(), made.best.parameters)
    made.resume()
    assert made.wait()
    np.testing.assert_array_equal(made.history["loss"], straight(method)["loss"])


@pytest.mark.parametrize("method", ["L-BFGS-B", "CG", "Newton-CG", "trust-constr"])
def test_methods_of_scipy_go_on_at_the_same_loss_after_a_stop(method):
    _, made, held = begun(method, steps=100)
    made.stop(wait=False)
    held.go_on.set()
    made.wait()
    assert made.status == "stopped"
    before = made.history
    made.resume()
    made.wait()
    after = made.history
    np.testing.assert_array_equal(after[:6], before)
    assert after["loss"][6] <= before["loss"][5]
    assert made.best.loss < 1e-4


def test_a_stop_ends_a_pause():
    _, made, held = begun("Adam")
    made.pause()
    held.go_on.set()
    until(lambda: made.status == "paused")
    made.stop()
    assert made.status == "stopped"


def test_a_stop_ends_a_launch_that_never_ends():
    x, y, run = endless()
    made = ds.optimize(run, x, y, method="descent", rate=0.3, progress=False, background=True)
    wait_for_launch(made._thread)
    made.stop()
    assert (made.status, made.done) == ("stopped", 0 if made.best.loss == 1.0 else 1)
    assert x[None] == made.best.parameters[()]
    assert y[None] == 0


def test_a_stop_ends_a_run_of_many_short_launches():
    x, y, run = quadratic()
    begin = threading.Event()

    def long():
        for _ in range(10**9):
            run()
            begin.set()

    made = ds.optimize(long, x, y, progress=False, background=True)
    assert begin.wait(60)
    made.stop()
    assert (made.status, made.best) == ("stopped", None)
    assert (x.to_numpy() == 1).all()
    assert y[None] == 0


def test_a_stop_also_ends_a_backward_sweep():
    x, y = ds.field(ds.f64, shape=(), name="x"), ds.field(ds.f64, shape=(), name="y")
    back = threading.Event()

    @ds.kernel
    def square():
        y[None] += x[None] ** 2

    @ds.ad.grad_replaced
    def last():
        square()

    @ds.ad.grad_for(last)
    def last_back():
        back.set()
        until(lambda: made[0].pending == "stop")

    def run():
        square()
        last()

    made = []
    x[None] = 3.0
    made.append(ds.optimize(run, x, y, progress=False, background=True, start=False))
    made[0].start()
    assert back.wait(60)
    made[0].stop()
    assert made[0].status == "stopped"
    assert (x[None], y[None]) == (3.0, 0.0)


def test_a_callback_may_stop():
    x, y, run = quadratic()
    made = ds.optimize(
        run, x, y, method="Adam", progress=False, callback=lambda o: o.stop() if o.done == 3 else None
    )
    assert (made.status, made.done) == ("stopped", 3)
    made.resume()
    assert (made.status, made.done) == ("finished", 100)


def test_more_steps():
    x, y, run = quadratic()
    made = ds.optimize(run, x, y, method="Adam", steps=5, progress=False)
    with pytest.raises(GradientError, match=r"(?s)all 5 steps are done\n.*resume\(steps=…\)"):
        made.resume()
    made.resume(steps=7)
    assert (made.done, made.steps) == (12, 12)
    x.fill(1.0)
    whole = ds.optimize(run, x, y, method="Adam", steps=12, progress=False)
    np.testing.assert_array_equal(made.history["loss"], whole.history["loss"])


def test_what_one_cannot_ask_for():
    x, y, run = quadratic()
    made = ds.optimize(run, x, y, progress=False, start=False)
    assert repr(made) == "optimization by L-BFGS-B: ready, 0 of 100 steps"
    with pytest.raises(GradientError, match="has not begun"):
        made.wait()
    with pytest.raises(GradientError, match="is ready, not running"):
        made.pause()
    made.stop()
    made.start()
    with pytest.raises(GradientError, match="has begun already"):
        made.start()
    x.fill(1.0)
    for again, message in (
        (lambda o: o.resume(), "is running"),
        (lambda o: o.wait(), "its end cannot be waited for"),
    ):
        made = ds.optimize(run, x, y, progress=False, start=False, callback=again)
        with pytest.raises(GradientError, match=message):
            made.start()
    with pytest.raises(GradientError, match="nobody could end the pause"):
        ds.optimize(run, x, y, progress=False, callback=lambda o: o.pause())


def through(between):
    """A problem of its own whose runs write to a field that others write to."""
    x, y = ds.field(ds.f64, shape=2, name="x"), ds.field(ds.f64, shape=(), name="y")

    @ds.kernel
    def ahead():
        between[None] = x[1] - x[0] ** 2

    @ds.kernel
    def loss():
        y[None] = 100 * between[None] ** 2 + (1 - x[0]) ** 2

    def run():
        ahead()
        loss()

    return run, x, y


@pytest.mark.slow
def test_two_at_once_do_not_see_each_other():
    between = ds.field(ds.f64, shape=())
    options = {"progress": False, "background": True, "start": False}
    a, b = (ds.optimize(*through(between), method=m, **options) for m in ("CG", "BFGS"))
    a.start()
    b.start()
    a.wait()
    b.wait()
    for made, method in ((a, "CG"), (b, "BFGS")):
        alone = ds.optimize(*through(between), method=method, progress=False)
        np.testing.assert_array_equal(made.history["loss"], alone.history["loss"])
    assert between[None] == 0


def test_not_inside_a_tape():
    x, y = ds.field(ds.f64, shape=(), needs_grad=True), ds.field(ds.f64, shape=(), needs_grad=True)
    with pytest.raises(GradientError, match="cannot run inside a tape"), ds.Tape(y):
        ds.optimize(lambda: None, x, y)
    with pytest.raises(TypeError, match="cannot be copied"):
        __import__("copy").copy(ds.optimize(lambda: None, x, y, start=False))


def test_the_gradients_of_fields_stay():
    x = ds.field(ds.f64, shape=3, name="x", needs_grad=True)
    y = ds.field(ds.f64, shape=(), needs_grad=True)

    @ds.kernel
    def cube():
        for i in x:
            y[None] += (x[i] - 1) ** 4

    x.fill(3.0)
    with ds.Tape(y):
        cube()
    made = ds.optimize(cube, x, y, progress=False, background=True)
    made.wait()
    np.testing.assert_allclose(x.grad.to_numpy(), 32.0)
    np.testing.assert_allclose(x.to_numpy(), 1.0, atol=0.1)


def test_a_view_sees_the_best_parameters():
    x, y, run = quadratic(1)
    seen = []

    class View:
        def update(self):
            seen.append(x[0])

    made = ds.optimize(run, x, y, method="descent", rate=2.5, steps=3, progress=False, view=View())
    assert set(seen) == {1.0}
    assert made.best.loss == 0.5
