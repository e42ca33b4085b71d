"""An explorer whose slider moves while an optimisation runs on the same fields."""

from __future__ import annotations

import numpy as np

import dsim as ds


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
