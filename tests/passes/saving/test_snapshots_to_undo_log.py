"""Large local vectors: undo logs give bitwise the results of copies, in little memory."""

from __future__ import annotations

import numpy as np
import pytest

import dsim as ti
from dsim.ir.check import check
from dsim.ir.nodes import KernelIR, UndoLog
from dsim.ir.walk import statements
from dsim.passes.saving import placement
from dsim.passes.saving import snapshots_to_undo_log as undo_logs
from dsim.passes.saving.snapshots_to_undo_log import snapshots_to_undo_log
from dsim.runtime.state.settings import LOOP_MEMORY
from tests.limits import memory
from tests.passes.saving.worlds import N, World, same

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:warning.serial:dsim.DsimWarning"),
    pytest.mark.filterwarnings("ignore:warning.unreached:dsim.DsimWarning"),
]

M = 28


@pytest.fixture(autouse=True)
def _large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Vectors of M entries count as large: the code that fills those of 64 one by one compiles long."""
    monkeypatch.setattr(undo_logs, "_LARGE", M)
    monkeypatch.setattr(undo_logs, "_FEW", 1)


def changed_by_a_loop(w: World):
    x, n, loss = w.x, w.n, w.loss

    @ti.kernel
    def run():
        for i in x:
            v = ti.Vector([0.1] * M)
            for k in range(n[i]):
                v[k * 3 % M] = ti.sin(v[(k * 3 - 3) % M]) + x[i] * v[k % M]
            for k in range(M):
                loss[None] += v[k] * v[(k + 1) % M]

    return run


def at_the_top(w: World):
    x, n, loss = w.x, w.n, w.loss

    @ti.kernel
    def run():
        v = ti.Vector([0.1] * M)
        for k in range(n[2]):
            v[k * 3 % M] = ti.sin(v[(k * 3 - 3) % M]) + x[k % N] * v[k % M]
        loss[None] += v[0] * v[3] + v[6]

    return run


def in_branches(w: World):
    x, n, loss = w.x, w.n, w.loss

    @ti.kernel
    def run():
        for i in x:
            v = ti.Vector([0.2] * M)
            for k in range(n[i]):
                if v[k % 5] < 0.6:
                    v[k % 5] += 0.3 * x[i] * v[(k + 1) % 5]
                    if k % 3 == 0:
                        v[(k + 2) % 5] *= v[k % 5]
                else:
                    v[k % 5] = ti.cos(v[k % 5])
            if x[i] > 0.5:
                v[2] = v[1] * v[3]
            for k in range(5):
                loss[None] += v[k] ** 2

    return run


def nested(w: World):
    x, n, loss = w.x, w.n, w.loss

    @ti.kernel
    def run():
        for i in x:
            v = ti.Vector([0.2] * M)
            s = 0.1
            for k in range(n[i]):
                for j in range(k % 7):
                    v[j] += ti.sin(v[(j + k) % 7]) * 0.1 + s * 0.01
                    v[j + 20] = v[j] * x[i]
                m = 0
                while v[m] < 0.5 and m < 6:
                    v[m] = v[m] * 1.1 + 0.05
                    m += 1
                    if m == 4:
                        break
                s += v[m] * v[22]
            loss[None] += s + v[1]

    return run


def made_in_each_trip(w: World):
    x, n, loss = w.x, w.n, w.loss

    @ti.kernel
    def run():
        for i in x:
            s = x[i]
            for k in range(n[i]):
                v = ti.Vector([s] * M)
                for j in range(1, 5):
                    v[j] = ti.sin(v[j - 1]) + 0.1 * v[(j * k) % M]
                s = v[4] * 0.9
            loss[None] += s

    return run


def copied_to_one_another(w: World):
    x, n, loss = w.x, w.n, w.loss

    @ti.kernel
    def run():
        for i in x:
            v = ti.Vector([x[i]] * M)
            u = ti.Vector([0.0] * M)
            for k in range(n[i]):
                before = v
                v[k % M] = ti.sin(v[(k + 9) % M])
                u = v
                v[k % 4] = u[k % M] * before[k % 4]
                if k % 2 == 0:
                    v = before
            loss[None] += v[1] + u[2] * v[3]

    return run


def integers_and_extrema(w: World):
    x, n, loss = w.x, w.n, w.loss

    @ti.kernel
    def run():
        for i in x:
            order = ti.Vector([0] * M)
            best = ti.Vector([0.0] * M)
            for k in range(n[i]):
                order[k % 7] = (order[(k + 3) % 7] * 5 + k) % 11
                best[order[k % 7]] = ti.max(best[order[k % 7]], ti.sin(x[i] * k))
                best[12] += best[order[(k + 1) % 7]] ** 2
            loss[None] += best[12] * best[3]

    return run


def written_only(w: World):
    x, n, loss = w.x, w.n, w.loss

    @ti.kernel
    def run():
        for i in x:
            v = ti.Vector([0.0] * M)
            s = x[i]
            for k in range(n[i]):
                v[k % 6] = s * s
                s = ti.sin(s) * 1.1
            for k in range(6):
                loss[None] += v[k] * s

    return run


def of_a_matrix(w: World):
    x, n, loss = w.x, w.n, w.loss

    @ti.kernel
    def run():
        for i in x:
            a = ti.Matrix.zero(ti.f64, 9, 9)
            for k in range(n[i]):
                a[k % 3, k % 2] += x[i] * (1.0 + a[(k + 1) % 3, (k + 1) % 2])
            loss[None] += a[0, 0] * a[2, 1] + a[1, 1]

    return run


PROGRAMS = [
    changed_by_a_loop, at_the_top, in_branches, nested, made_in_each_trip,
    integers_and_extrema, written_only, of_a_matrix,
]  # fmt: skip


@pytest.fixture
def logs(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many undo logs there are in each kernel where copies became some; each is checked."""
    found: list[int] = []

    def spy(kernel: KernelIR) -> KernelIR:
        after = snapshots_to_undo_log(kernel)
        check(after)
        if after is not kernel:
            found.append(sum(isinstance(s, UndoLog) for s in statements(after.body)))
        return after

    monkeypatch.setattr(placement, "snapshots_to_undo_log", spy)
    return found


def by_copies(monkeypatch: pytest.MonkeyPatch, build, backend: str, what: str) -> list[np.ndarray]:
    with monkeypatch.context() as patch:
        patch.setattr(placement, "snapshots_to_undo_log", lambda kernel: kernel)
        return getattr(World(build, LOOP_MEMORY, backend), what)()


@pytest.mark.parametrize("build", PROGRAMS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("backend", ["cpu", "reference"])
def test_undo_logs_give_what_copies_give(build, backend, logs, monkeypatch) -> None:
    wanted = by_copies(monkeypatch, build, backend, "gradients")
    assert any(np.any(g != 0) for g in wanted)
    for saved in (LOOP_MEMORY, 300):
        del logs[:]
        same(World(build, saved, backend).gradients(), wanted)
        assert any(logs)


@pytest.mark.parametrize(
    ("build", "what"),
    [
        *((build, "forward_over_reverse") for build in PROGRAMS),
        *((build, "reverse_over_reverse") for build in (changed_by_a_loop, of_a_matrix)),
    ],
    ids=lambda f: f if isinstance(f, str) else f.__name__,
)
def test_so_do_second_derivatives(build, what, logs, monkeypatch) -> None:
    wanted = by_copies(monkeypatch, build, "cpu", what)
    assert any(np.any(g != 0) for g in wanted)
    del logs[:]
    same(getattr(World(build, 300, "cpu"), what)(), wanted)
    assert any(logs)


def test_buffers_that_are_written_whole_are_copied(logs) -> None:
    w = World(copied_to_one_another, LOOP_MEMORY, "cpu")
    assert w.gradients()[0].sum() == pytest.approx(w.slope(), rel=1e-6)
    assert not any(logs)


@pytest.mark.parametrize("build", PROGRAMS, ids=lambda f: f.__name__)
def test_that_is_the_gradient(build) -> None:
    w = World(build, LOOP_MEMORY, "cpu")
    slope = w.gradients()[0].sum()
    assert slope == pytest.approx(w.slope(), rel=1e-6)


def test_a_long_loop_over_a_large_buffer_needs_little_memory(monkeypatch) -> None:
    monkeypatch.undo()  # this one is large anyway
    size, trips = 1024, 20_000

    def local(w: World):
        x, loss = w.x, w.loss

        @ti.kernel
        def run(m: int):
            for i in range(N):
                v = ti.Vector([0.0] * size)
                for k in range(m):
                    v[k * 7 % size] = ti.sin(v[(k * 7 + 3) % size]) + x[i]
                loss[None] += v[3] + v[500]

        return lambda: run(trips)

    def in_a_field(w: World):
        x, loss = w.x, w.loss
        v = ti.field(ti.f64, shape=(N, size), needs_grad=True)

        @ti.kernel
        def run(m: int):
            for i in range(N):
                for k in range(m):
                    v[i, k * 7 % size] = ti.sin(v[i, (k * 7 + 3) % size]) + x[i]
                loss[None] += v[i, 3] + v[i, 500]

        return lambda: run(trips)

    wanted = World(in_a_field, LOOP_MEMORY, "cpu").gradients()
    w = World(local, LOOP_MEMORY, "cpu")
    with memory(2 << 20):  # of 160 MB that copies take
        found = w.gradients()
    same(found, wanted)
    w = World(local, 100_000, "cpu")
    with memory(900_000):
        same(w.gradients(), wanted)
