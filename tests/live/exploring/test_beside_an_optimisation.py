"""An explorer whose slider moves while an optimisation runs on the same fields."""

from __future__ import annotations

import re
from contextlib import contextmanager

import numpy as np
import pytest

import dsim as ds
from tests.optimization.programs import until


def relaxation():
    """Where a run of one parameter begins, its loss, and the run."""
    start = ds.field(ds.f64, shape=50, name="start", needs_grad=True)
    x = ds.field(ds.f64, shape=50, name="x", needs_grad=True)
    loss = ds.field(ds.f64, shape=(), name="loss", needs_grad=True)

    @ds.kernel
    def begin():
        for i in x:
            x[i] = start[i]

    @ds.kernel
    def step(k: ds.f64):
        for i in x:
            x[i] -= 0.1 * k * ds.sin(x[i])

    @ds.kernel
    def measure():
        for i in x:
            loss[None] += (x[i] - 0.5) ** 2

    def run(k=1.0):
        begin()
        for _ in range(20):
            step(k)
        measure()

    return start, loss, run


@pytest.mark.slow
def test_each_gives_what_it_gives_alone():
    ds.init(default_fp=ds.f64)
    start, loss, run = relaxation()

    def optimised(**options):
        start.from_numpy(np.linspace(0.2, 1.0, 50))
        return ds.optimize(
            run, wrt=start, loss=loss, method="descent", rate=0.1, steps=15, progress=False, **options
        )

    seen = ds.explore(run, loss=loss, controls={"k": (0.5, 4.0)})
    seen.set(k=3.0)
    alone = seen.found.loss
    expected = optimised(background=False).history["loss"]
    seen.set(k=3.0)
    ended = seen.found.loss  # with the numbers that the optimisation has found
    assert ended != alone

    found = optimised(background=True)
    moves = []
    while found.status not in {"finished", "failed"}:
        seen.set(k=3.0)
        moves.append(seen.found.loss)
    found.wait()
    np.testing.assert_allclose(found.history["loss"], expected, rtol=1e-12)
    assert len(moves) > 1
    assert all(min(alone, ended) - 1e-9 <= m <= max(alone, ended) + 1e-9 for m in moves)


def pulled():
    """Bodies pulled to the origin: what is optimised, the stiffness, the loss, and the run."""
    ds.init(default_fp=ds.f64)
    p = ds.Vector.field(2, ds.f64, shape=3, needs_grad=True, name="p")
    k = ds.field(ds.f64, shape=(), needs_grad=True, name="k")
    U = ds.field(ds.f64, shape=(), needs_grad=True, name="U")

    @ds.kernel
    def pull():
        for i in p:
            U[None] += 0.5 * k[None] * p[i].norm_sqr()

    p.from_numpy(np.array([[1.0, 0.0], [0.0, 2.0], [3.0, 1.0]]))
    k[None] = 2.0
    return p, k, U, pull


@contextmanager
def working(run, wrt, loss, **given):
    """An optimisation in a thread that goes on in the block."""
    options = {"method": "Adam", "rate": 1e-13, "steps": 10**8, "progress": False, "background": True}
    made = ds.optimize(run, wrt, loss, **options, **given)
    until(lambda: made.done > 2)
    try:
        yield made
    finally:
        made.stop()


SAID = r"`k` is in use by a running optimisation \(Adam, [\d,]+ of 100,000,000 steps\)"
IN_PAGE = SAID.replace("`k`", "`.`") + ": pause or stop it first"


def read_in_python(p, k, U, pull):
    @ds.kernel
    def scaled(by: ds.f64):
        for i in p:
            U[None] += 0.5 * by * p[i].norm_sqr()

    return {"run": lambda: scaled(k[None])}


def read_by_what_prepares(p, k, U, pull):
    q = ds.field(ds.f64, shape=())

    @ds.kernel
    def scaled():
        for i in p:
            U[None] += 0.5 * q[None] * p[i].norm_sqr()

    return {"run": scaled, "reset": lambda: q.fill(k[None])}


def read_by_a_kernel(p, k, U, pull):
    return {"run": pull}


@pytest.mark.parametrize("reads", [read_by_a_kernel, read_in_python, read_by_what_prepares])
def test_a_control_that_the_optimisation_reads_stays(reads):
    p, k, U, pull = pulled()
    seen = ds.explore(pull, wrt=p, loss=U, controls={k: (0, 10)})
    assert seen.widget
    (slider,) = seen._panel.sliders.values()
    alone, runs = seen.found.loss, seen.runs
    with working(wrt=p, loss=U, **reads(p, k, U, pull)) as found:
        with pytest.raises(ds.DsimError, match=SAID):
            seen.set(k=4.0)
        slider.value = 5.0
        until(lambda: not seen._latest.asked)
        assert (k[None], seen.controls[0].value, slider.value) == (2.0, 2.0, 2.0)
        assert (seen.runs, seen.found.loss, seen.found.gradients) == (runs, alone, {"k": alone / 2})
        assert re.search(f"U = .*; {IN_PAGE}", repr(seen))
        assert re.search(IN_PAGE, seen._panel._told.value)
        assert re.search(IN_PAGE, seen.view._moments.newest.header["text"])
        found.pause()
        until(lambda: found.status == "paused")
        seen.set(k=4.0)
        assert k[None] == 4.0
        assert "in use" not in repr(seen)
    np.testing.assert_allclose(found.history["loss"], alone, rtol=1e-6)
    seen.close()


def test_points_that_are_optimised_are_not_dragged():
    p, k, U, pull = pulled()
    seen = ds.explore(pull, wrt=p, loss=U, controls={k: (0, 10)})
    drag = {"type": "drag", "layer": 0, "index": 1, "position": [10.0, 0.0], "phase": "move"}
    with working(pull, p, U) as found:
        seen.view._heard(drag)
        assert re.search(IN_PAGE, repr(seen))
        np.testing.assert_array_equal(seen.view.scene.layers[0].at()[1], [0.0, 2.0])
        found.stop()
        seen.view._heard(drag)
    np.testing.assert_array_equal(p.to_numpy()[1], [10.0, 0.0])
    assert "in use" not in repr(seen)


def test_fields_that_the_optimisation_does_not_use_are_free():
    p, k, U, pull = pulled()
    q, V = ds.field(ds.f64, shape=3, name="q"), ds.field(ds.f64, shape=(), name="V")

    @ds.kernel
    def other():
        for i in q:
            V[None] += (q[i] - 1.0) ** 2

    seen = ds.explore(pull, wrt=p, loss=U, controls={k: (0, 10)})
    with working(other, q, V):
        seen.set(k=4.0)
    assert k[None] == 4.0
