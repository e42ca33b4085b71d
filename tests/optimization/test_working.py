"""An optimisation that begins over the fields of one that works in a thread."""

import gc
import os
import threading
import weakref
from types import SimpleNamespace

import numpy as np
import pytest

import dsim as ds
from dsim.diagnostics import GradientError
from dsim.optimization.working import WORKING
from dsim.runtime.state.evaluations import EVALUATING
from tests.optimization.programs import Steps, endless, quadratic, rosenbrock, until
from tests.stopping import press, wait_for_launch, watched

ENDLESS = 10**8
SAID = "stopped another optimisation of these fields: Adam, "


@pytest.fixture(autouse=True)
def _fresh():
    ds.init(default_fp=ds.f64)
    with watched():
        yield


def works(run, wrt, loss, **given):
    """An optimisation in a thread that ends only when it is stopped, after some steps."""
    options = {"method": "Adam", "steps": ENDLESS, "progress": False, "background": True, **given}
    made = ds.optimize(run, wrt, loss, **options)
    until(lambda: made.done > 2)
    return made


def struct():
    particles = ds.types.struct(p=ds.f64, v=ds.f64).field(shape=3)
    y = ds.field(ds.f64, shape=())

    @ds.kernel
    def run():
        for i in particles:
            y[None] += (particles[i].p - 1) ** 2 + (particles[i].v - 2) ** 2

    return particles, y, run


def other_loss(x):
    y = ds.field(ds.f64, shape=())

    @ds.kernel
    def run():
        for i in x:
            y[None] += (x[i] + 1) ** 2

    return y, run


def fields():
    x, y, run = quadratic()
    return (x, y, run), (x, y, run)


def one_of_several():
    x, y, run = quadratic()
    w, z = ds.field(ds.f64, shape=3), ds.field(ds.f64, shape=())

    @ds.kernel
    def apart():
        for i in x:
            z[None] += (x[i] - w[i] + i) ** 2

    return (x, y, run), ([w, x], z, apart)


def the_loss():
    x, y, _ = quadratic()
    z = ds.field(ds.f64, shape=3)

    @ds.kernel
    def both():
        for i in x:
            y[None] += x[i] ** 2 + z[i] ** 2

    return (x, y, both), (z, y, both)


def a_member():
    particles, y, run = struct()
    z, run_z = other_loss(particles.v)
    return ([particles.p, particles.v], y, run), (particles.v, z, run_z)


def memory():
    base = np.ones(6)
    y, z = ds.field(ds.f64, shape=()), ds.field(ds.f64, shape=())

    @ds.kernel
    def norm(x: ds.types.ndarray(), to: ds.template()):
        for i in x:
            to[None] += x[i] ** 2

    a, b = base[:4], base[3:]
    return (a, y, lambda: norm(a, y)), (b, z, lambda: norm(b, z))


@pytest.mark.parametrize("background", [False, True])
@pytest.mark.parametrize("shared", [fields, one_of_several, the_loss, a_member, memory])
def test_it_stops_that_one_and_says_so(shared, background):
    (wrt, loss, run), (wrt2, loss2, run2) = shared()
    first = works(run, wrt, loss)
    second = ds.optimize(run2, wrt2, loss2, method="Adam", steps=3, progress=False, background=background)
    assert first._ended.is_set()
    assert (first.status, first.message) == ("stopped", "another optimisation of its fields has begun")
    assert second.replaces == f"{SAID}{first.done:,} of 100,000,000 steps"
    second.wait()
    assert (second.status, second.done) == ("finished", 3)
    assert repr(second).endswith(second.replaces)
    for leaf, (_, best) in zip(second._plan.objective.wrt.leaves, second.parameters, strict=True):
        np.testing.assert_array_equal(leaf if isinstance(leaf, np.ndarray) else leaf.to_numpy(), best)


def test_what_shares_nothing_goes_on():
    particles, y, _ = struct()
    z, run_z = other_loss(particles.v)

    @ds.kernel
    def places():
        for i in particles:
            y[None] += (particles[i].p - 1) ** 2

    first = works(places, particles.p, y)
    second = ds.optimize(run_z, particles.v, z, method="Adam", steps=3, progress=False)
    assert (first.status, second.status, second.replaces) == ("running", "finished", "")
    first.stop()


def test_it_begins_where_the_other_one_began():
    x, y, run = quadratic()
    first = works(run, x, y)
    second = ds.optimize(run, x, y, method="Adam", steps=3, progress=False)
    np.testing.assert_array_equal(second.history["loss"], first.history["loss"][:4])


def test_nor_does_a_pause_in_between_change_where_it_begins():
    x, y, run = quadratic()
    first = works(run, x, y)
    first.pause()
    until(lambda: first.status == "paused")
    first.resume()
    seen = first.done
    until(lambda: first.done > seen)
    second = ds.optimize(run, x, y, method="Adam", steps=3, progress=False)
    np.testing.assert_array_equal(second.history["loss"], first.history["loss"][:4])


def test_nor_does_a_view_that_shows_the_best():
    x, y, run = quadratic()
    shown = threading.Event()
    first = works(run, x, y, view=SimpleNamespace(update=shown.set))
    assert shown.wait(60)
    second = ds.optimize(run, x, y, method="Adam", steps=3, progress=False)
    np.testing.assert_array_equal(second.history["loss"], first.history["loss"][:4])


def test_what_the_fields_were_given_in_a_pause_is_where_it_begins():
    x, y, run = quadratic()
    first = works(run, x, y)
    first.pause()
    until(lambda: first.status == "paused")
    x.fill(3.0)
    second = ds.optimize(run, x, y, method="Adam", steps=3, progress=False)
    assert (first.status, second.history["loss"][0]) == ("stopped", 27.0)
    assert second.replaces.startswith(SAID)
    np.testing.assert_array_equal(x.to_numpy(), second.best.parameters)


def test_a_field_that_it_leaves_alone_keeps_the_best():
    x, y, run = quadratic()
    w = ds.field(ds.f64, shape=3)
    w.fill(1.0)

    @ds.kernel
    def both():
        for i in x:
            y[None] += x[i] ** 2 + w[i] ** 2

    first = works(both, [x, w], y)
    second = ds.optimize(run, x, y, method="Adam", steps=3, progress=False)
    np.testing.assert_array_equal(w.to_numpy(), first.best.parameters[w])
    np.testing.assert_array_equal(x.to_numpy(), second.best.parameters)


def test_one_in_the_middle_of_a_launch_that_never_ends():
    x, y, run = endless()
    first = ds.optimize(run, x, y, method="descent", rate=0.3, progress=False, background=True)
    wait_for_launch(first._thread)
    z, run_z = scalar_loss(x)
    second = ds.optimize(run_z, x, z, progress=False)
    assert (first.status, second.status) == ("stopped", "finished")


def scalar_loss(x):
    z = ds.field(ds.f64, shape=())

    @ds.kernel
    def run():
        z[None] = (x[None] - 2) ** 2

    return z, run


def test_one_that_goes_on_stops_the_one_that_replaced_it():
    x, y, run = quadratic()
    first = works(run, x, y)
    second = works(run, x, y)
    first.resume()
    assert (second.status, first.status) == ("stopped", "running")
    assert first.replaces == f"{SAID}{second.done:,} of 100,000,000 steps"
    first.stop()
    np.testing.assert_array_equal(x.to_numpy(), first.best.parameters)


def test_one_made_to_start_later_stops_it_then():
    x, y, run = quadratic()
    first = works(run, x, y)
    second = ds.optimize(run, x, y, method="Adam", steps=3, progress=False, start=False)
    assert first.status == "running"
    second.start()
    assert (first.status, second.status) == ("stopped", "finished")
    assert second.replaces.startswith(SAID)


def test_of_many_that_begin_at_once_one_is_left():
    x, y, run = quadratic()
    made = []

    def begin():
        made.append(ds.optimize(run, x, y, method="Adam", steps=ENDLESS, progress=False, background=True))

    threads = [threading.Thread(target=begin) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(each.status for each in made) == ["running"] + ["stopped"] * 5
    last = next(each for each in made if each.status == "running")
    until(lambda: last.best is not None)
    last.stop()
    np.testing.assert_array_equal(x.to_numpy(), last.best.parameters)


def test_ctrl_c_while_it_waits():
    x, y, run = quadratic()
    held = Steps(3)
    first = ds.optimize(run, x, y, method="Adam", progress=False, background=True, callback=held)
    assert held.there.wait(60)
    second = ds.optimize(run, x, y, method="Adam", steps=3, progress=False, start=False)
    pressing = threading.Thread(target=lambda: (until(lambda: first.pending == "stop"), press()))
    pressing.start()
    with pytest.raises(KeyboardInterrupt):
        second.start()
    pressing.join()
    assert (first.pending, second.status) == ("stop", "ready")
    held.go_on.set()
    second.start()
    assert (first.status, second.status) == ("stopped", "finished")


def test_two_that_wait_for_each_other_end():
    """Each begins, in a callback, one over the fields of the other."""
    (x, y, run), (x2, y2, run2) = quadratic(), quadratic()
    both = threading.Barrier(2)

    def crossed(run, x, y):
        def callback(made):
            if made.done == 2:
                both.wait(60)
                ds.optimize(run, x, y, method="Adam", steps=3, progress=False)

        return callback

    options = {"method": "Adam", "progress": False, "background": True}
    a = ds.optimize(run, x, y, callback=crossed(run2, x2, y2), **options)
    b = ds.optimize(run2, x2, y2, callback=crossed(run, x, y), **options)
    assert a.wait(60)
    assert b.wait(60)
    assert "stopped" in (a.status, b.status)


def test_a_callback_may_optimise_the_same_fields():
    x, y, run = quadratic()
    inner = []

    def callback(made):
        if made.done == 2:
            inner.append(ds.optimize(run, x, y, method="Adam", steps=3, progress=False))

    made = ds.optimize(run, x, y, method="Adam", steps=5, progress=False, background=True, callback=callback)
    made.wait()
    assert (made.status, inner[0].status, inner[0].replaces) == ("finished", "finished", "")


def test_inside_an_evaluation_it_is_an_error():
    x, y, run = quadratic()
    first = works(run, x, y)
    with (
        EVALUATING,
        pytest.raises(GradientError, match=r"still running in another thread.*\n(.*\n)*help: stop"),
    ):
        ds.optimize(run, x, y, progress=False)
    assert first.status == "running"
    first.stop()


def test_a_file_that_both_have_goes_on(tmp_path):
    x, y, run = rosenbrock()
    first = works(run, x, y, path=tmp_path / "best.npz")
    second = ds.optimize(
        run,
        x,
        y,
        method="Adam",
        steps=ENDLESS,
        path=tmp_path / "best.npz",
        progress=False,
        callback=lambda made: made.stop(),
    )
    np.testing.assert_array_equal(second.history["loss"][:-1], first.history["loss"])


def test_one_that_has_ended_is_freed():
    x, y, run = quadratic()
    first = works(run, x, y)
    first.stop()
    assert not [*WORKING._works]
    there = weakref.ref(first)
    second = works(run, x, y)
    del first
    gc.collect()
    assert there() is None
    third = ds.optimize(run, x, y, method="Adam", steps=3, progress=False)
    there = weakref.ref(second)
    del second
    gc.collect()
    assert there() is None
    assert third.status == "finished"


def test_a_child_process_does_not_wait_for_threads_that_it_has_not():
    x, y, run = quadratic()
    first = works(run, x, y)
    first.pause()
    until(lambda: first.status == "paused")
    child = os.fork()
    if child == 0:
        made = ds.optimize(run, x, y, method="Adam", steps=3, progress=False)
        os._exit(made.status != "finished")
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    first.stop()


@pytest.mark.parametrize("bars", [True, False])
def test_a_script_says_so_in_a_line(bars, capsys, monkeypatch):
    if not bars:
        monkeypatch.setitem(__import__("sys").modules, "tqdm", None)
    x, y, run = quadratic()
    works(run, x, y)
    found = ds.optimize(run, x, y, method="Adam", steps=3)
    assert f"optimize: {found.replaces}\n" in capsys.readouterr().err


def test_a_tape_beside_it_names_it():
    x = ds.field(ds.f64, shape=(), name="x", needs_grad=True)
    y = ds.field(ds.f64, shape=(), name="y", needs_grad=True)
    inside, go_on = threading.Event(), threading.Event()

    @ds.kernel
    def square():
        y[None] += x[None] ** 2

    def held():
        square()
        inside.set()
        assert go_on.wait(60)

    made = ds.optimize(held, x, y, method="Adam", progress=False, background=True)
    assert inside.wait(60)
    with pytest.raises(GradientError) as refused, ds.Tape(y):
        square()
    assert "an optimisation that is still running in another thread uses `" in str(refused.value)
    assert "help: stop it, by its Stop button or its `stop()`" in str(refused.value)
    made.stop(wait=False)
    go_on.set()
    made.wait()
