"""Particles that interact: all pairs, pairs in lists of cells, and smoothed hydrodynamics."""

import numpy as np

import dsim as ds
from tests.bench.cases.fields import Case, fill, integers, random, scalars, vectors


def gravity(bodies: int = 2048) -> Case:
    """The energy of all pairs of bodies."""
    x, energy = fill(vectors(bodies), random(bodies, 2)), scalars()

    @ds.kernel
    def potential():
        for i, j in ds.ndrange(bodies, bodies):
            energy[None] -= 1 / (x[i] - x[j]).norm(1e-3)

    return potential, energy, x


def lattice(side: int) -> np.ndarray:
    """Points of a cubic lattice with distance 1, each moved a little."""
    points = np.stack(np.meshgrid(*[np.arange(side)] * 3, indexing="ij"), -1).reshape(-1, 3)
    return 1.1 * points + 0.2 * random(side**3, 3)


def lennard_jones(side: int = 12) -> Case:
    """The Lennard-Jones energy of all pairs of atoms in three dimensions."""
    atoms = side**3
    x, energy = fill(vectors(atoms, n=3), lattice(side)), scalars()

    @ds.kernel
    def potential():
        for i, j in ds.ndrange(atoms, atoms):
            if i != j:
                inverse = 1 / (x[i] - x[j]).norm_sqr()
                s6 = inverse**3
                energy[None] += 2 * (s6 * s6 - s6)

    return potential, energy, x


def lennard_jones_cells(side: int = 24, cutoff: float = 2.5) -> Case:  # noqa: C901 (its kernels)
    """The same up to a cutoff: lists of the atoms of each cell, built by atomics; 27 cells around an atom."""
    atoms, most = side**3, 48
    x, energy = fill(vectors(atoms, n=3), lattice(side)), scalars()
    across = int(1.1 * side / cutoff) + 3
    count = ds.field(ds.i32, shape=(across, across, across))
    members = ds.field(ds.i32, shape=(across, across, across, most))

    @ds.kernel
    def clear():
        for c in ds.grouped(count):
            count[c] = 0

    @ds.kernel
    def sort():
        ds.loop_config(parallel=True)
        for i in range(atoms):
            cell = ds.floor(x[i] / cutoff, ds.i32) + 1
            at = ds.atomic_add(count[cell], 1)
            members[cell[0], cell[1], cell[2], at] = i

    @ds.kernel
    def potential():
        for i in range(atoms):
            cell = ds.floor(x[i] / cutoff, ds.i32) + 1
            own = 0.0
            for o in ds.grouped(ds.ndrange((-1, 2), (-1, 2), (-1, 2))):
                c = cell + o
                for k in range(count[c]):
                    j = members[c[0], c[1], c[2], k]
                    r2 = (x[i] - x[j]).norm_sqr()
                    if j != i and r2 < cutoff**2:
                        s6 = (1 / r2) ** 3
                        own += 2 * (s6 * s6 - s6)
            energy[None] += own

    def run() -> None:
        clear()
        sort()
        potential()

    return run, energy, x


def sph(side: int = 48, steps: int = 10) -> Case:  # noqa: C901 (its kernels)
    """Smoothed particles in two dimensions: densities, then forces by pressure; neighbours from a list."""
    n, h, dt = side * side, 1.3, 0.01
    grid = np.stack(np.divmod(np.arange(n), side), -1) + 0.1 * random(n, 2)
    near = [np.flatnonzero((np.abs(grid - p) < 2 * h).all(1)) for p in grid]
    first = integers(np.concatenate([[0], np.cumsum([len(a) for a in near])]))
    other = integers(np.concatenate(near))
    x, v, rho = vectors(steps + 1, n), vectors(steps + 1, n), scalars(steps, n)
    start = np.zeros((steps + 1, n, 2))
    start[0] = grid
    fill(x, start)
    spread = scalars()

    @ds.func
    def weight(r: float) -> float:
        """A quadratic kernel of radius 2h."""
        q = ds.max(2 - r / h, 0.0)
        return 5 / (16 * np.pi * h * h) * q * q

    @ds.kernel
    def densities(t: ds.i32):
        for i in range(n):
            total = 0.0
            for k in range(first[i], first[i + 1]):
                total += weight((x[t, i] - x[t, other[k]]).norm(1e-6))
            rho[t, i] = total

    @ds.kernel
    def move(t: ds.i32):
        for i in range(n):
            force = ds.Vector([0.0, 0.0])
            own = (rho[t, i] - 1) / rho[t, i] ** 2
            for k in range(first[i], first[i + 1]):
                j = other[k]
                d = x[t, i] - x[t, j]
                r = d.norm(1e-6)
                slope = -5 / (8 * np.pi * h**3) * ds.max(2 - r / h, 0.0)
                force -= (own + (rho[t, j] - 1) / rho[t, j] ** 2) * slope / r * d
            v[t + 1, i] = v[t, i] + dt * (force - 0.1 * v[t, i])
            x[t + 1, i] = x[t, i] + dt * v[t + 1, i]

    @ds.kernel
    def measure():
        for i in range(n):
            spread[None] += (x[steps, i] - x[0, i]).norm_sqr() + v[steps, i].norm_sqr()

    def run() -> None:
        for t in range(steps):
            densities(t)
            move(t)
        measure()

    return run, spread, x
