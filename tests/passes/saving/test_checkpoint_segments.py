"""Loops in checkpoint segments give bitwise the results of loops that save everything."""

from __future__ import annotations

import numpy as np
import pytest

import dsim as ti
from dsim.backends.cpu.runtime import thread_count
from dsim.ir.check import check
from dsim.ir.nodes import KernelIR
from dsim.passes.saving import placement
from dsim.passes.saving.checkpoint_segments import segment_loops
from dsim.runtime.state.settings import LOOP_MEMORY
from tests.passes.saving.worlds import N, World, same

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:warning.serial:dsim.DsimWarning"),
    pytest.mark.filterwarnings("ignore:warning.unreached:dsim.DsimWarning"),
]


def counted(w: World):
    x, n, loss = w.x, w.n, w.loss

    @ti.kernel
    def run():
        for i in x:
            s, t = x[i], 1.0
            for k in range(n[i]):
                s, t = ti.sin(s) + 0.1 * t, t * ti.cos(s) + k * 0.01
            loss[None] += s * t

    return run


def counted_from_elsewhere_by_steps(w: World):
    x, n, loss = w.x, w.n, w.loss

    @ti.kernel
    def run():
        for i in x:
            s = x[i]
            for k in range(i - 3, n[i], 2):
                s = ti.sin(s) + 0.1 * k
            for k in range(40):
                s = ti.sin(s + 0.01 * k)
            loss[None] += s

    return run


def at_the_top(w: World):
    x, y, loss = w.x, w.y, w.loss

    @ti.kernel
    def run(m: int):
        s = x[0]
        for k in range(m):
            s = ti.sin(s) * x[k % N]
            y[k % N, 1] += s
        loss[None] += s

    return lambda: run(50)


def conditional(w: World):
    x, loss = w.x, w.loss

    @ti.kernel
    def run():
        for i in x:
            s, k = x[i], 0
            while s > 0.05:
                s, k = s * ti.cos(s) * 0.95, k + 1
                if k > 30:
                    break
            loss[None] += s * k

    return run


def left_from_inside(w: World):
    x, n, loss = w.x, w.n, w.loss

    @ti.func
    def until(s, m):
        for k in range(m):
            if k % 3 == 1:
                continue
            s = ti.sin(s) * 1.1
            if s < 0.3:
                break
            if k == 25:
                return s * 2.0
        return s * s

    @ti.kernel
    def run():
        for i in x:
            loss[None] += until(x[i], n[i] + 3)

    return run


def nested(w: World):
    x, n, loss = w.x, w.n, w.loss

    @ti.kernel
    def run():
        for i in x:
            s = x[i]
            for k in range(n[i]):
                t = s
                for j in range(k):
                    t = ti.sin(t) + 0.01 * j
                    m = 0
                    while m < j % 3:
                        t, m = t * ti.cos(s), m + 1
                s = 0.5 * (s + t)
            loss[None] += s

    return run


def in_place(w: World):
    y, x, loss = w.y, w.x, w.loss

    @ti.kernel
    def run(m: int):
        for i in range(N):
            for t in range(m):
                for j in range(3):
                    y[i, j] = ti.sin(y[i, j + 1]) + 0.3 * y[i, j] * x[i]
                y[i, (t * t) % 4] *= 0.9
        for i in range(N):
            loss[None] += y[i, 0] ** 2

    return lambda: run(29)


def in_place_at_the_top(w: World):
    y, n, x, loss = w.y, w.n, w.x, w.loss

    @ti.kernel
    def run(m: int):
        for t in range(m):
            for i in range(N):
                n[i] = (n[i] * 5 + t) % N
                y[i, t % 4] = ti.sin(y[n[i], (t + 1) % 4]) + x[n[i]] * y[i, t % 4]
        for i in range(N):
            loss[None] += y[i, 0] * y[i, 3]

    return lambda: run(23)


def in_place_until(w: World):
    y, x, loss = w.y, w.x, w.loss

    @ti.kernel
    def run():
        for i in range(N):
            k = 0
            while y[i, k % 4] < 0.8 and k < 40:
                for j in range(3):
                    y[i, j] = ti.sin(y[i, j + 1]) + 0.2 * x[i]
                    if y[i, j] > 0.7:
                        break
                y[i, 3] += 0.05
                k += 1
            loss[None] += y[i, 0] * k + y[i, 3]

    return run


def undone_at_once(w: World):
    """Trips write and read, and see nothing of one another."""
    x, y, n, loss = w.x, w.y, w.n, w.loss

    @ti.kernel
    def run():
        for i in range(N):
            s = x[i]
            for _ in range(n[i] + 2):
                y[i, 0] = s * 1.5
                y[i, 1] = ti.sin(y[i, 0])
                s = ti.cos(y[i, 1]) + 0.1 * s * y[i, 2]
            loss[None] += s * y[i, 1]

    return run


def random(w: World):
    x, loss = w.x, w.loss

    @ti.kernel
    def run(m: int):
        for i in x:
            s = x[i]
            for _ in range(m):
                if ti.random() < 0.7:
                    s = s * ti.random() + 0.3 * ti.sin(s)
            loss[None] += s

    return lambda: run(31)


def with_a_buffer(w: World):
    x, n, loss = w.x, w.n, w.loss

    @ti.kernel
    def run():
        for i in x:
            v = ti.Vector([x[i] * 0.1] * 20)
            s = 0.0
            for k in range(n[i]):
                v[k % 20] = ti.sin(v[(k * 7 + 3) % 20] + s) + 0.2
                if k % 4 == 0:
                    v[(k * k) % 20] *= 0.5
                s += v[(k * 3) % 20] ** 2
            loss[None] += s + v[3]

    return run


def integers(w: World):
    x, loss = w.x, w.loss

    @ti.kernel
    def run(m: int):
        for i in x:
            s, a, b = x[i], 1, i
            for k in range(m):
                a, b = b + k, (a * 3 + b) % 17
                s = ti.sin(s * x[b % N]) + 0.1 * a
            loss[None] += s

    return lambda: run(27)


PROGRAMS = [
    counted, counted_from_elsewhere_by_steps, at_the_top, conditional, left_from_inside, nested, in_place,
    in_place_at_the_top, in_place_until, undone_at_once, random, with_a_buffer, integers,
]  # fmt: skip
REWRITTEN = {in_place, in_place_at_the_top, in_place_until, undone_at_once}


@pytest.fixture
def cut(monkeypatch: pytest.MonkeyPatch) -> list[KernelIR]:
    """The kernels in which loops were cut; each is checked."""
    found: list[KernelIR] = []

    def spy(kernel: KernelIR, budget: int, threads: int = 1) -> KernelIR:
        after = segment_loops(kernel, budget, threads)
        check(after)
        if after is not kernel:
            found.append(after)
        return after

    monkeypatch.setattr(placement, "segment_loops", spy)
    return found


@pytest.mark.parametrize("build", PROGRAMS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("backend", ["cpu", "reference"])
def test_a_gradient_in_segments_is_the_same(build, backend: str, cut: list[KernelIR]) -> None:
    whole = World(build, LOOP_MEMORY, backend).gradients()
    assert any(np.any(g != 0) for g in whole[:2])
    for saved in (1, 100, 700):
        del cut[:]
        same(World(build, saved, backend).gradients(), whole)
        assert cut


@pytest.mark.parametrize("build", PROGRAMS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("backend", ["cpu", "reference"])
def test_so_is_the_tangent_of_a_gradient(build, backend: str, cut: list[KernelIR]) -> None:
    whole = World(build, LOOP_MEMORY, backend).forward_over_reverse()
    assert any(np.any(g != 0) for g in whole)
    del cut[:]
    same(World(build, 100, backend).forward_over_reverse(), whole)
    assert cut


@pytest.mark.parametrize("build", [p for p in PROGRAMS if p not in REWRITTEN], ids=lambda f: f.__name__)
def test_so_is_the_gradient_of_a_gradient(build, cut: list[KernelIR]) -> None:
    whole = World(build, LOOP_MEMORY, "cpu").reverse_over_reverse()
    assert any(np.any(g != 0) for g in whole)
    del cut[:]
    same(World(build, 100, "cpu").reverse_over_reverse(), whole)
    assert cut


def test_small_loops_of_known_length_stay_whole(cut: list[KernelIR]) -> None:
    def build(w: World):
        x, loss = w.x, w.loss

        @ti.kernel
        def run():
            for i in x:
                s = x[i]
                for _ in range(100):
                    s = ti.sin(s)
                loss[None] += s

        return run

    World(build, 100 * 8 * thread_count(), "cpu").gradients()
    assert not cut
    World(build, 100 * 8 * thread_count() - 1, "cpu").gradients()
    assert cut
