"""With ``deterministic=True``, results and gradients are bitwise equal for any number of threads."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dsim as ti

N = 20_000  # several chunks
Program = tuple[Callable[[], None], Any, tuple[Any, ...]]


def _given(rng: np.random.Generator, *shape: int, entry: int = 0, low: float = -1.0) -> Any:
    vectors = ti.Vector.field(entry, ti.f32, shape, needs_grad=True) if entry else None
    made = ti.field(ti.f32, shape, needs_grad=True) if vectors is None else vectors
    made.from_numpy(rng.uniform(low, 1.0, shape + ((entry,) if entry else ())))
    return made


def _loss() -> Any:
    return ti.field(ti.f32, shape=(), needs_grad=True)


def _reduction(rng: np.random.Generator) -> Program:
    x, a, loss = _given(rng, N), _given(rng, 2), _loss()

    @ti.kernel
    def run():
        for i in x:
            loss[None] += ti.sin(x[i] * a[0]) * a[1]

    return run, loss, (x, a)


def _scatter(rng: np.random.Generator) -> Program:
    x, y, loss, at = _given(rng, N), _given(rng, 64), _loss(), ti.field(ti.i32, shape=N)
    at.from_numpy(rng.integers(0, 64, N))

    @ti.kernel
    def scatter():
        for i in x:
            y[at[i]] += x[i] * x[i]

    @ti.kernel
    def gather():
        for i in at:
            loss[None] += x[i] * y[at[i]]

    def run() -> None:
        scatter()
        gather()

    return run, loss, (x, y)


def _stencil(rng: np.random.Generator) -> Program:
    u, v, loss = _given(rng, 150, 150), _given(rng, 150, 150), _loss()

    @ti.kernel
    def step():
        for i, j in ti.ndrange((1, 149), (1, 149)):
            v[i, j] += (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1] - 4 * u[i, j]) * u[i, j]

    @ti.kernel
    def measure():
        for i, j in v:
            loss[None] += v[i, j] ** 2

    def run() -> None:
        step()
        measure()

    return run, loss, (u, v)


def _particles(rng: np.random.Generator) -> Program:
    """To the cells of a grid around each, by weights."""
    x, grid, loss = _given(rng, 5000, entry=2, low=0.0), _given(rng, 16, 16), _loss()

    @ti.kernel
    def spread():
        for p in x:
            base = ti.cast(x[p] * 14, ti.i32)
            f = x[p] * 14 - base
            for i, j in ti.static(ti.ndrange(2, 2)):
                weight = (f[0] if i else 1 - f[0]) * (f[1] if j else 1 - f[1])
                grid[base + ti.Vector([i, j])] += weight

    @ti.kernel
    def measure():
        for i, j in grid:
            loss[None] += grid[i, j] ** 2

    def run() -> None:
        spread()
        measure()

    return run, loss, (x, grid)


def _steps(rng: np.random.Generator) -> Program:
    """A loop in each iteration, whose trips are saved; the adjoint cuts it into strips."""
    x, a, loss = _given(rng, 1000), _given(rng, 1), _loss()

    @ti.kernel
    def run():
        for i in x:
            v = x[i]
            for _ in range(60):
                v += 0.1 * ti.sin(v * a[0]) * v
            loss[None] += v

    return run, loss, (x, a)


def _bits(program: Callable[[np.random.Generator], Program], threads: int, loop_memory: int) -> list[bytes]:
    ti.init(deterministic=True, cpu_max_num_threads=threads, loop_memory=loop_memory)
    run, loss, inputs = program(np.random.default_rng(1))
    before = [f.to_numpy() for f in inputs]
    found: list[bytes] = []
    for _ in range(2):  # a launch tries its threads, and to do without
        for f, values in zip(inputs, before, strict=True):
            f.from_numpy(values)
        with ti.ad.Tape(loss):
            run()
        found.append(b"".join(f.to_numpy().tobytes() for f in (loss, *(f.grad for f in inputs), *inputs)))
    with ti.ad.FwdMode(loss=loss, param=inputs[0], seed=np.ones(before[0].shape)):
        run()
    return [*set(found), loss.dual.to_numpy().tobytes()]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("program", "loop_memory"),
    [
        (_reduction, 1 << 28),
        (_scatter, 1 << 28),
        (_stencil, 1 << 28),
        (_particles, 1 << 28),
        (_steps, 1 << 28),
        (_steps, 4_000),
    ],
)
def test_any_number_of_threads(program: Callable[[np.random.Generator], Program], loop_memory: int) -> None:
    alone = _bits(program, 1, loop_memory)
    assert len(alone) == 2
    assert all(_bits(program, threads, loop_memory) == alone for threads in (2, 3, 4))


def test_one_thread_is_the_one_that_launches(monkeypatch: pytest.MonkeyPatch) -> None:
    class Heard:
        def __init__(self) -> None:
            self.threads: list[int] = []

        def write(self, text: str) -> None:
            self.threads.append(threading.get_ident())

    def heard(count: int) -> list[int]:
        ti.init(deterministic=True, cpu_max_num_threads=count)
        x = ti.field(ti.f32, shape=N)

        @ti.kernel
        def tell():
            for i in x:
                x[i] = ti.sin(ti.exp(x[i]))
                if i % 500 == 0:
                    print(i)

        out = Heard()
        with monkeypatch.context() as patch:
            patch.setattr("sys.stdout", out)
            tell()
        return out.threads

    assert len(heard(0)) == N // 500  # and threads have been started
    assert heard(1) == [threading.get_ident()] * (N // 500)
