"""Programs with sparse derivatives: stencils on grids, and the energy of a triangle mesh."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
from scipy.sparse import csr_array

import dsim as ti


def assert_found(J, S, **tolerance):
    """The numbers are those of the dense matrix, and no other entry is kept."""
    dense = J.dense()
    np.testing.assert_allclose(S.toarray(), dense, **{"rtol": 1e-12, "atol": 1e-12} | tolerance)
    assert isinstance(S, csr_array)
    assert S.has_canonical_format
    assert S.nnz == np.count_nonzero(dense)


def line(n, dtype=ti.f64):
    """Tridiagonal: each number depends on its neighbours."""
    x, y = (ti.field(dtype, shape=n, name=name) for name in "xy")

    @ti.kernel
    def run():
        for i in x:
            total = 2 * x[i] ** 2
            if i > 0:
                total -= x[i - 1] * x[i]
            if i < n - 1:
                total -= ti.sin(x[i + 1])
            y[i] = total

    x.from_numpy(np.random.default_rng(1).uniform(1, 2, n))
    return SimpleNamespace(x=x, y=y, run=run)


def grid(shape, dtype=ti.f64):
    """Five points in two dimensions, seven in three."""
    x, y = (ti.field(dtype, shape=shape, name=name) for name in "xy")

    @ti.kernel
    def run():
        for at in ti.grouped(x):
            total = 4 * x[at] ** 2
            for axis in ti.static(range(len(shape))):
                step = ti.Vector.unit(len(shape), axis, ti.i32)
                if at[axis] > 0:
                    total -= x[at - step]
                if at[axis] < shape[axis] - 1:
                    total -= x[at + step] * x[at]
            y[at] = total

    x.from_numpy(np.random.default_rng(1).uniform(1, 2, shape))
    return SimpleNamespace(x=x, y=y, run=run)


def sheet(columns, rows):
    """A neo-Hookean sheet that is held at its left edge and hangs: fields x and U, which `run` computes."""
    corner = np.indices((columns + 1, rows + 1)).reshape(2, -1).T
    rest = corner / rows
    number = np.arange(len(corner)).reshape(columns + 1, rows + 1)
    a, b, c, d = number[:-1, :-1], number[1:, :-1], number[1:, 1:], number[:-1, 1:]
    mesh = np.stack([a, b, c, a, c, d], axis=-1).reshape(-1, 3)
    edges = np.stack([rest[mesh[:, 1]] - rest[mesh[:, 0]], rest[mesh[:, 2]] - rest[mesh[:, 0]]], axis=-1)

    x = ti.Vector.field(2, ti.f64, shape=len(rest), name="x")
    U = ti.field(ti.f64, shape=(), name="U")
    triangle = ti.Vector.field(3, ti.i32, shape=len(mesh))
    inverse_rest = ti.Matrix.field(2, 2, ti.f64, shape=len(mesh))
    area = ti.field(ti.f64, shape=len(mesh))
    triangle.from_numpy(mesh.astype(np.int32))
    inverse_rest.from_numpy(np.linalg.inv(edges))
    area.from_numpy(np.linalg.det(edges) / 2)
    x.from_numpy(rest * [1.1, 1.0] + 0.01 * np.sin(9 * rest[:, ::-1]))
    mu, lam, weight = 20.0, 30.0, 0.2

    @ti.kernel
    def run():
        for t in triangle:
            corners = triangle[t]
            a, b, c = x[corners[0]], x[corners[1]], x[corners[2]]
            F = ti.Matrix.cols([b - a, c - a]) @ inverse_rest[t]
            log_J = ti.log(F.determinant())
            stretch = 0.5 * mu * ((F.transpose() @ F).trace() - 2.0)
            U[None] += area[t] * (stretch - mu * log_J + 0.5 * lam * log_J**2)
            U[None] += area[t] * weight * (a.y + b.y + c.y)

    return SimpleNamespace(x=x, U=U, run=run, rest=rest, held=np.repeat(corner[:, 0] == 0, 2))
