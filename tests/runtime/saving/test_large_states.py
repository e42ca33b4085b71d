"""States of large fields, which all threads save and restore."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

import dsim as ti
from dsim.backends.cpu import streaming
from tests.runtime.taping import single


@pytest.mark.parametrize("n", [100, 30_011])
def test_large_states_are_saved_and_restored_by_all_threads(n, monkeypatch):
    """Each thread copies the part that it computes; and nothing else changes."""
    shared, asked = streaming.through_caches(), []
    monkeypatch.setattr(
        streaming, "through_caches", lambda: lambda *args: [asked.append(args[2]), shared(*args)]
    )
    ti.init(default_fp=ti.f64)
    x, loss = ti.field(ti.f64, shape=n, needs_grad=True), single("loss")
    x.from_numpy(np.linspace(0.1, 0.9, n))

    @ti.kernel
    def bend():
        for i in x:
            x[i] = ti.sin(x[i])

    @ti.kernel
    def total():
        for i in x:
            loss[None] += x[i]

    begin = x.to_numpy()
    with ti.Tape(loss):
        for _ in range(3):
            bend()
        total()
    states = [begin]
    for _ in range(3):
        states.append(np.sin(states[-1]))
    assert np.allclose(x.grad.to_numpy(), np.prod([np.cos(s) for s in states[:3]], axis=0), rtol=1e-14)
    assert np.allclose(x.to_numpy(), states[3], rtol=1e-14)
    assert len(asked) == (0 if n == 100 else 3 + 1 + 3 + 1)  # saved, the last state, restored, and that one
    assert set(asked) <= {x.to_numpy().nbytes}


def test_slots_that_no_value_takes_are_not_copied():
    """In a second derivative saved values are in a field of slots, which transforms copy whole."""
    ti.init(default_fp=ti.f64)
    n = 100_000
    x, loss = ti.field(ti.f64, shape=n, needs_grad=True), single("loss")

    @ti.kernel
    def bend():
        for i in x:
            x[i] = x[i] + 0.1 * x[i] ** 2

    @ti.kernel
    def total():
        for i in x:
            loss[None] += x[i]

    def run():
        bend()
        bend()
        total()

    x.fill(0.5)
    tracemalloc.start()
    try:
        found = ti.hvp(run, wrt=x, out=loss, tangents=np.ones(n))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    first = 0.5 + 0.1 * 0.5**2
    np.testing.assert_allclose(found, 0.2 * (1 + 0.2 * first) + 0.2 * (1 + 0.2 * 0.5) ** 2)
    assert peak < 50 * x.to_numpy().nbytes
