"""Springs, cloth and a sheet of triangles: forces between neighbours, gathered or scattered."""

import numpy as np

import dsim as ds
from tests.bench.cases.fields import Case, fill, integers, matrices, random, scalars, vectors


def neighbours(side: int) -> np.ndarray:
    """Pairs of masses of a square that are next to one another, or at one diagonal."""
    n = np.arange(side * side).reshape(side, side)
    pairs = ((n[1:], n[:-1]), (n[:, 1:], n[:, :-1]), (n[1:, 1:], n[:-1, :-1]))
    return np.concatenate([np.stack([a.ravel(), b.ravel()], 1) for a, b in pairs])


def springs(side: int = 24, steps: int = 1024) -> Case:  # noqa: C901 (four kernels)
    """Masses on springs: three small launches a step, forces scattered by an integer field."""
    masses = side * side
    ends = neighbours(side)
    x, v, f = (vectors(steps, masses) for _ in range(3))
    pair, spread = integers(ends), scalars()
    grid = np.stack(np.divmod(np.arange(masses), side), -1) / (side - 1)
    start = np.zeros((steps, masses, 2))
    start[0] = grid
    fill(x, start)
    length = fill(scalars(len(ends)), 1.05 * np.linalg.norm(grid[ends[:, 0]] - grid[ends[:, 1]], axis=1))

    @ds.kernel
    def weigh(t: ds.i32):
        for i in range(masses):
            f[t, i] = [0.0, -1.0]

    @ds.kernel
    def pull(t: ds.i32):
        for s in range(len(ends)):
            a, b = pair[s, 0], pair[s, 1]
            along = x[t, a] - x[t, b]
            now = along.norm(1e-6)
            push = 200.0 * (now - length[s]) / now * along
            f[t, a] -= push
            f[t, b] += push

    @ds.kernel
    def move(t: ds.i32):
        for i in range(masses):
            v[t, i] = 0.999 * v[t - 1, i] + 1e-3 * f[t - 1, i]
            x[t, i] = x[t - 1, i] + 1e-3 * v[t, i]

    @ds.kernel
    def measure():
        for i in range(masses):
            spread[None] += x[steps - 1, i].norm_sqr() / masses

    def run() -> None:
        for t in range(1, steps):
            weigh(t - 1)
            pull(t - 1)
            move(t)
        measure()

    return run, spread, length


def springs_graph(side: int = 24, steps: int = 1024) -> Case:
    """The same springs, whose launches are recorded once and run again without Python between them."""
    run, spread, length = springs(side, steps)
    return ds.graph(run), spread, length


def cloth(side: int = 64, steps: int = 64) -> Case:
    """A cloth that hangs by two corners: each mass looks at the twelve masses around it."""
    x, v, loss = vectors(steps + 1, side, side, n=3), vectors(steps + 1, side, side, n=3), scalars()
    rest, dt, stiffness = 1 / (side - 1), 1e-3, 2000.0
    start = np.zeros((steps + 1, side, side, 3))
    start[0, ..., ::2] = np.moveaxis(np.indices((side, side)) * 1.02 * rest, 0, -1)
    fill(x, start)
    around = [(a, b) for a in range(-2, 3) for b in range(-2, 3) if 0 < a * a + b * b <= 4]

    @ds.kernel
    def move(t: ds.i32):
        for i, j in ds.ndrange(side, side):
            force = ds.Vector([0.0, -9.8, 0.0])
            for a, b in ds.static(around):
                if 0 <= i + a < side and 0 <= j + b < side:
                    d = x[t, i + a, j + b] - x[t, i, j]
                    now = d.norm()
                    force += stiffness * (now - rest * (a * a + b * b) ** 0.5) / now * d
                    force += 0.5 * (v[t, i + a, j + b] - v[t, i, j])
            if i == 0 and (j == 0 or j == side - 1):
                force = ds.Vector([0.0, 0.0, 0.0])
            v[t + 1, i, j] = v[t, i, j] + dt * force
            x[t + 1, i, j] = x[t, i, j] + dt * v[t + 1, i, j]

    @ds.kernel
    def measure():
        for i, j in ds.ndrange(side, side):
            loss[None] += x[steps, i, j].norm_sqr()

    def run() -> None:
        for t in range(steps):
            move(t)
        measure()

    return run, loss, x


def triangulated(side: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A square of triangles: where the vertices are, the vertices of each, and its inverse edges at rest."""
    nodes = (side + 1) ** 2
    corner = (np.arange(side)[:, None] * (side + 1) + np.arange(side)).ravel()
    low = np.stack([corner, corner + side + 1, corner + 1], 1)
    high = np.stack([corner + 1, corner + side + 1, corner + side + 2], 1)
    triangles = np.concatenate([low, high])
    rest = np.stack(np.divmod(np.arange(nodes), side + 1), -1) / side
    edges = np.stack([rest[triangles[:, k]] - rest[triangles[:, 2]] for k in (0, 1)], -1)
    return rest * [1.1, 0.95] + 1e-3 * random(*rest.shape), triangles, np.linalg.inv(edges)


def sheet(side: int = 64) -> Case:
    """The energy of a neo-Hookean sheet of triangles: gathers, a determinant, a logarithm."""
    start, triangles, inverses = triangulated(side)
    x, energy, vertex = fill(vectors(len(start)), start), scalars(), integers(triangles)
    inverse = fill(matrices(len(triangles), grad=False), inverses)
    area = 0.5 / side**2

    @ds.kernel
    def elastic():
        for t in range(len(triangles)):
            a, b, c = x[vertex[t, 0]], x[vertex[t, 1]], x[vertex[t, 2]]
            F = ds.Matrix.cols([a - c, b - c]) @ inverse[t]
            log_J = ds.log(F.determinant())
            energy[None] += area * (500 * ((F.transpose() @ F).trace() - 2) - 1000 * log_J + 1000 * log_J**2)

    return elastic, energy, x
