"""What the gradients after each step cost: ``python -m tests.bench.sweeps``.

Programs that change their state in place keep no history of its adjoint: `Tape.gradients` copies one in a
sweep. Times are of a sweep into an earlier result, in backward passes of the same tape, by turns. Beside
them stands what rows cost alone: one array copied to each, one after the other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

import dsim as ds
from dsim.backends.cpu.streaming import LARGE, stream
from tests.bench.cases.fields import fill, integers, matrices, random, scalars, vectors
from tests.bench.cases.structures import neighbours
from tests.bench.timing import fastest


class Stepped(NamedTuple):
    """A loop of steps, each of which launches the same kernels.

    Attributes
    ----------
    calls : sequence of callable
        What a step launches.
    end : callable
        Adds to `loss`.
    state : ScalarField
        The field whose adjoint is kept.
    steps : int
        How many steps there are.
    """

    calls: Sequence[Callable[[], Any]]
    end: Callable[[], Any]
    loss: Any
    state: Any
    steps: int

    def run(self) -> None:
        """All steps, and the loss."""
        for _ in range(self.steps):
            for call in self.calls:
                call()
        self.end()


def oscillators(n: int = 200_000, steps: int = 100, *, linear: bool = False) -> Stepped:
    """Two launches of a few operations for each number."""
    x, v, loss = fill(scalars(n), random(n)), scalars(n), scalars()

    @ds.kernel
    def push():
        for i in x:
            v[i] -= 0.01 * (x[i] if ds.static(linear) else ds.sin(x[i]))

    @ds.kernel
    def move():
        for i in x:
            x[i] += 0.01 * v[i]

    @ds.kernel
    def end():
        for i in x:
            loss[None] += x[i] ** 2

    return Stepped([push, move], end, loss, x, steps)


def wave(n: int = 256, steps: int = 100) -> Stepped:
    """A linear wave: a stencil and a sum for each number."""
    u, v, loss = fill(scalars(n, n), random(n, n)), scalars(n, n), scalars()

    @ds.kernel
    def push():
        for i, j in ds.ndrange((1, n - 1), (1, n - 1)):
            v[i, j] += 0.1 * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1] - 4.0 * u[i, j])

    @ds.kernel
    def move():
        for i, j in u:
            u[i, j] += 0.1 * v[i, j]

    @ds.kernel
    def end():
        for i, j in u:
            loss[None] += u[i, j] ** 2

    return Stepped([push, move], end, loss, u, steps)


def springs(side: int = 64, steps: int = 200) -> Stepped:
    """Masses on springs, whose forces are scattered by an integer field."""
    ends, masses = neighbours(side), side * side
    x, v, f, loss = vectors(masses), vectors(masses), vectors(masses), scalars()
    fill(x, np.stack(np.divmod(np.arange(masses), side), -1) / (side - 1) + 1e-3 * random(masses, 2))
    pair, length = integers(ends), 1.05 / (side - 1)

    @ds.kernel
    def weigh():
        for i in f:
            f[i] = [0.0, -1.0]

    @ds.kernel
    def pull():
        for s in range(len(ends)):
            a, b = pair[s, 0], pair[s, 1]
            along = x[a] - x[b]
            now = along.norm(1e-6)
            push = 200.0 * (now - length) / now * along
            f[a] -= push
            f[b] += push

    @ds.kernel
    def move():
        for i in x:
            v[i] = 0.999 * v[i] + 1e-4 * f[i]
            x[i] += 1e-4 * v[i]

    @ds.kernel
    def end():
        for i in x:
            loss[None] += x[i].norm_sqr()

    return Stepped([weigh, pull, move], end, loss, x, steps)


def fluid(n: int = 128, steps: int = 50) -> Stepped:
    """Sweeps of Jacobi's method from one field to another and back, as for the pressure of a fluid."""
    p, q, div, loss = scalars(n, n), scalars(n, n), fill(scalars(n, n), random(n, n)), scalars()

    def relax(old: Any, new: Any) -> Callable[[], Any]:
        @ds.kernel
        def sweep():
            for i, j in ds.ndrange(n, n):
                around = old[(i - 1 + n) % n, j] + old[(i + 1) % n, j]
                around += old[i, (j - 1 + n) % n] + old[i, (j + 1) % n]
                new[i, j] = 0.25 * (around - div[i, j])

        return sweep

    @ds.kernel
    def end():
        for i, j in p:
            loss[None] += p[i, j] ** 2

    return Stepped([relax(p, q), relax(q, p)], end, loss, p, steps)


def mpm(particles: int = 4096, n: int = 64, steps: int = 40) -> Stepped:  # noqa: C901 (its kernels)
    """The material point method: particles to grid, forces, grid to particles."""
    dx, dt, E, mass, volume = 1 / n, 1e-4, 400.0, 1.0, 1e-4
    x, v, C, F = vectors(particles), vectors(particles), matrices(particles), matrices(particles)
    momentum, m, loss = vectors(n, n), scalars(n, n), scalars()
    fill(x, 0.3 + 0.4 * random(particles, 2))
    fill(F, np.broadcast_to(np.eye(2), (particles, 2, 2)))

    @ds.kernel
    def clear():
        for i, j in m:
            m[i, j] = 0.0
            momentum[i, j] = [0.0, 0.0]

    @ds.kernel
    def to_grid():
        for p in x:
            base = ds.cast(x[p] * n - 0.5, ds.i32)
            f = x[p] * n - base
            w = [0.5 * (1.5 - f) ** 2, 0.75 - (f - 1) ** 2, 0.5 * (f - 0.5) ** 2]
            F[p] = (ds.Matrix.identity(float, 2) + dt * C[p]) @ F[p]
            log_J = ds.log(F[p].determinant())
            stress = E * (F[p] @ F[p].transpose()) + E * (0.5 * log_J - 1) * ds.Matrix.identity(float, 2)
            affine = -(dt * volume * 4 * n * n) * stress + mass * C[p]
            for i, j in ds.static(ds.ndrange(3, 3)):
                offset = ds.Vector([i, j])
                weight = w[i][0] * w[j][1]
                momentum[base + offset] += weight * (mass * v[p] + affine @ ((offset - f) * dx))
                m[base + offset] += weight * mass

    @ds.kernel
    def forces():
        for i, j in m:
            if m[i, j] > 0:
                momentum[i, j] = momentum[i, j] / m[i, j]
                momentum[i, j][1] -= dt * 9.8
                if (j < 3 and momentum[i, j][1] < 0) or j > n - 3:
                    momentum[i, j][1] = 0.0

    @ds.kernel
    def to_particles():
        for p in x:
            base = ds.cast(x[p] * n - 0.5, ds.i32)
            f = x[p] * n - base
            w = [0.5 * (1.5 - f) ** 2, 0.75 - (f - 1) ** 2, 0.5 * (f - 0.5) ** 2]
            new_v = ds.Vector([0.0, 0.0])
            new_C = ds.Matrix([[0.0, 0.0], [0.0, 0.0]])
            for i, j in ds.static(ds.ndrange(3, 3)):
                g = momentum[base[0] + i, base[1] + j]
                weight = w[i][0] * w[j][1]
                new_v += weight * g
                new_C += 4 * n * weight * g.outer_product(ds.Vector([i, j]) - f)
            v[p] = new_v
            C[p] = new_C
            x[p] += dt * new_v

    @ds.kernel
    def end():
        for p in x:
            loss[None] += x[p].norm_sqr()

    return Stepped([clear, to_grid, forces, to_particles], end, loss, F, steps)


SECONDS = 6.0  # to measure a program
PROGRAMS: dict[str, Callable[[], Stepped]] = {
    "mpm, deformation gradient": mpm,
    "springs, positions": springs,
    "oscillators": oscillators,
    "Jacobi's sweeps, 128²": fluid,
    "linear wave, 256²": wave,
    "linear wave, 128²": lambda: wave(128),
    "linear oscillators": lambda: oscillators(linear=True),
}


class Costs(NamedTuple):
    """Seconds for a step of a backward pass and for the copy of a row; sweeps, in backward passes."""

    step: float
    row: float
    by_step: float
    by_call: float


def costs(p: Stepped) -> Costs:
    """Times a backward pass, the copies of rows alone, and sweeps with rows after each step and each call."""
    with ds.Tape(p.loss) as tape:
        p.run()
    rows, by_step = _sweep(tape, p.state, len(p.calls))
    _, by_call = _sweep(tape, p.state, 1)
    bar = np.ascontiguousarray(p.state.grad.to_numpy())
    copy = stream if rows.nbytes > LARGE else np.copyto

    def copies() -> None:
        for n in range(len(rows)):
            copy(rows[n, ...], bar)

    backward, *others = fastest(tape.backward, copies, by_step, by_call, seconds=SECONDS)
    return Costs(backward / p.steps, others[0] / len(rows), others[1] / backward, others[2] / backward)


def _sweep(tape: Any, state: Any, every: int) -> tuple[np.ndarray, Callable[[], object]]:
    out = tape.gradients(state, every=every).values
    return out, lambda: tape.gradients(state, every=every, out=out)


def main() -> None:
    """Prints the table."""
    titles = (
        "Program",
        "KiB for a row",
        "µs for a step backward",
        "µs for a row alone",
        "each step",
        "each call",
    )
    print("|", " | ".join(titles), "|")
    print("| :-- | --: | --: | --: | --: | --: |")
    for name, make in PROGRAMS.items():
        for real in (ds.f32, ds.f64):
            ds.init(default_fp=real)
            p = make()
            found = costs(p)
            size = p.state.to_numpy().nbytes / 1024
            times = (
                f"{1e6 * found.step:.0f} | {1e6 * found.row:.0f} | {found.by_step:.2f} | {found.by_call:.2f}"
            )
            print(f"| {name}, {real} | {size:.0f} | {times} |", flush=True)


if __name__ == "__main__":
    main()
