"""Implicit finite elements: assembly by a kernel, sparse solves in time steps, gradients of all orders."""

import numpy as np
import pytest

import dsim as ds
from tests.operations.programs import made, room
from tests.second_orders import assert_second_orders

N = 4  # nodes along a side
STEPS = 3


class Plate:
    """Heat in a plate of triangles, each with a conductivity of its own; its edge is kept at 0."""

    def __init__(self, dtype=ds.f64):
        nodes = np.stack(np.meshgrid(*[np.linspace(0.0, 1.0, N)] * 2, indexing="ij"), -1).reshape(-1, 2)
        rng = np.random.default_rng(0)
        inner = ((nodes > 0) & (nodes < 1)).all(1)
        nodes[inner] += rng.uniform(-0.05, 0.05, (inner.sum(), 2))
        first = np.arange(N * N).reshape(N, N)[:-1, :-1].ravel()
        triangles = np.concatenate([first[:, None] + [0, N, 1], first[:, None] + [N + 1, 1, N]])
        self.conductivity = made(rng.uniform(0.5, 1.5, len(triangles)), dtype)
        self.positions = made(nodes, dtype)
        self.values = room(len(triangles) * 9, dtype=dtype)
        self.heat, self.load = (room(N * N, dtype=dtype) for _ in range(2))
        self.start = made(np.where(inner, np.sin(np.pi * nodes).prod(1), 0.0), dtype)
        self.loss = room(dtype=dtype)
        self.rows = made(np.repeat(triangles, 3, axis=1).ravel(), ds.i32, False)
        self.columns = made(np.tile(triangles, 3).ravel(), ds.i32, False)
        self.inner, self.triangles = made(inner, ds.i32, False), made(triangles, ds.i32, False)
        self.assemble = self._assembly(len(triangles), dtype)
        self.weigh, self.measure = self._sums(len(triangles))

    def _geometry(self):
        triangles, positions = self.triangles, self.positions

        @ds.func
        def edge(t, i):
            a, b = triangles[t, (i + 1) % 3], triangles[t, (i + 2) % 3]
            return ds.Vector([positions[b, 0] - positions[a, 0], positions[b, 1] - positions[a, 1]])

        @ds.func
        def area(t):
            e = edge(t, 0)
            f = edge(t, 1)
            return (e[0] * f[1] - e[1] * f[0]) / 2

        return edge, area

    def _assembly(self, count, dtype):
        conductivity, values, triangles, inner = self.conductivity, self.values, self.triangles, self.inner
        edge, area = self._geometry()

        @ds.kernel
        def assemble(dt: dtype):
            """Lumped masses and ``dt`` times the stiffness; the edge has the identity's rows."""
            for t in range(count):
                for i, j in ds.static(ds.ndrange(3, 3)):
                    stiffness = conductivity[t] * edge(t, i).dot(edge(t, j)) / (4 * area(t))
                    mass = area(t) / 3 if i == j else 0.0
                    free = inner[triangles[t, i]] * inner[triangles[t, j]]
                    rest = 1.0 if i == j else 0.0
                    values[t * 9 + i * 3 + j] = mass + dt * stiffness if free == 1 else rest

        return assemble

    def _sums(self, count):
        heat, load, loss, triangles = self.heat, self.load, self.loss, self.triangles
        _, area = self._geometry()

        @ds.kernel
        def weigh():
            for i in load:
                load[i] = 0.0
            for t in range(count):
                for i in ds.static(range(3)):
                    load[triangles[t, i]] += area(t) / 3 * heat[triangles[t, i]]

        @ds.kernel
        def measure():
            for i in heat:
                loss[None] += heat[i] ** 2

        return weigh, measure

    def run(self):
        self.heat.copy_from(self.start)
        self.assemble(0.05)
        for _ in range(STEPS):
            self.weigh()
            ds.operations.sparse_solve(self.values, self.rows, self.columns, self.load, out=self.heat)
        self.measure()


@pytest.fixture(scope="module")
def plate():
    ds.init(default_fp=ds.f64)
    return Plate()


def test_it_cools(plate):
    plate.run()
    assert 0 < plate.heat.to_numpy().max() < plate.start.to_numpy().max()


@pytest.mark.slow
def test_gradients_by_conductivity_shape_and_start(plate):
    params = [plate.conductivity, plate.positions, plate.start]
    found = ds.check_grad(plate.run, wrt=params, loss=plate.loss, order=2)
    assert found, found


def test_each_number_of_the_gradient_by_conductivity(plate):
    with ds.ad.Tape(plate.loss):
        plate.run()
    gradient, h = plate.conductivity.grad.to_numpy(), 1e-5
    start = plate.conductivity.to_numpy()
    expected = np.zeros_like(start)
    for n in range(len(start)):
        for sign in (1, -1):
            moved = start.copy()
            moved[n] += sign * h
            plate.conductivity.from_numpy(moved)
            plate.loss[None] = 0.0
            plate.run()
            expected[n] += sign * plate.loss[None] / (2 * h)
    plate.conductivity.from_numpy(start)
    np.testing.assert_allclose(gradient, expected, rtol=1e-6, atol=1e-12)
    assert (gradient <= 0).all()
    assert np.count_nonzero(gradient) == 16  # all but the triangles in two corners


@pytest.mark.slow
@pytest.mark.parametrize("param", ["conductivity", "positions"])
def test_second_derivatives_in_the_four_compositions(plate, param):
    assert_second_orders(plate.run, getattr(plate, param), plate.loss, np.random.default_rng(0))


@pytest.mark.slow
def test_single_precision():
    ds.init(default_fp=ds.f32)
    plate = Plate(ds.f32)
    assert ds.check_grad(plate.run, wrt=[plate.conductivity, plate.start], loss=plate.loss)
