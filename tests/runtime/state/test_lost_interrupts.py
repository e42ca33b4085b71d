"""Ctrl-C is raised at whatever moment it comes: none is lost where fields, kernels and their code go."""

import gc
import random
import signal
import sys

import numpy as np
import pytest

import dsim as ds


class Stopped(KeyboardInterrupt):
    """Ctrl-C of this test."""


@pytest.mark.slow
def test_none_is_lost(monkeypatch):
    ds.init(default_fp=ds.f64)
    x = ds.field(ds.f64, shape=50, needs_grad=True)
    y = ds.field(ds.f64, shape=(), needs_grad=True)
    x.fill(1.0)

    def work():
        z = ds.field(ds.f64, shape=50)

        @ds.kernel
        def f():
            for i in x:
                z[i] = x[i]
                y[None] += ds.sin(x[i]) ** 3

        ds.objective(f, wrt=x, loss=y).hessp(np.ones(50), np.ones(50))

    lost, made, came = [], random.Random(1), 0
    others, gc.callbacks[:] = gc.callbacks[:], []  # of other libraries, in Python
    monkeypatch.setattr(sys, "unraisablehook", lambda lost_here: lost.append(lost_here.object))

    def stop(*_):
        raise Stopped

    work()
    before = signal.signal(signal.SIGALRM, stop)
    try:
        for _ in range(60):
            try:
                signal.setitimer(signal.ITIMER_REAL, made.uniform(1e-4, 6e-2))
                for _ in range(100):
                    work()
                    gc.collect(0)
            except Stopped:
                came += 1
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        gc.callbacks[:] = others
    assert lost == []
    assert came == 60
