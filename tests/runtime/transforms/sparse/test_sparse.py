"""Sparse Jacobians and Hessians: the numbers of the dense ones, by few products."""

import numpy as np
import pytest
from scipy.sparse import random_array

import dsim as ti
from dsim.runtime.transforms.functions import linearized_gradient
from tests.runtime.transforms.programs import oscillators
from tests.runtime.transforms.sparse.sparse_programs import assert_found, grid, line, sheet


@pytest.fixture(autouse=True)
def _fresh():
    ti.init(default_fp=ti.f64)


@pytest.mark.parametrize("n", [1, 2, 3, 17, 40, 101])
def test_a_tridiagonal_matrix(n):
    p = line(n)
    J = ti.linearize(p.run, wrt=p.x, out=p.y)
    assert_found(J, J.sparse())
    assert J.compression.colours == J.compression.bound == min(n, 3)


@pytest.mark.parametrize(("shape", "points"), [((13, 11), 5), ((40, 3), 5), ((5, 6, 7), 7)])
def test_stencils_on_grids(shape, points):
    p = grid(shape)
    J = ti.linearize(p.run, wrt=p.x, out=p.y)
    assert_found(J, J.sparse())
    assert J.compression.colours == J.compression.bound == points


@pytest.mark.slow
@pytest.mark.parametrize(("shape", "most"), [((10_000,), 60), ((100, 100), 110), ((22, 21, 22), 140)])
def test_ten_thousand_unknowns_need_few_products(shape, most):
    p = line(*shape) if len(shape) == 1 else grid(shape)
    J = ti.linearize(p.run, wrt=p.x, out=p.y)
    S = J.sparse()
    assert J.compression.forward <= most
    assert J.compression.reverse <= 3
    J.sparse(S)
    assert J.compression.forward == J.compression.colours + 3
    v = np.random.default_rng(7).standard_normal(S.shape[1])
    np.testing.assert_allclose(S @ v, J @ v, rtol=1e-11, atol=1e-11)


@pytest.mark.slow
def test_a_hessian_of_a_mesh():
    p = sheet(9, 5)
    H = linearized_gradient(p.run, p.x, p.U)
    S = H.sparse(symmetric=True)
    assert_found(H, S, atol=1e-10)
    assert H.compression.reverse == 0
    assert H.compression.bound == 14  # a corner, its six neighbours, two coordinates each
    assert H.compression.colours <= H.compression.bound
    np.testing.assert_array_equal(S.toarray(), S.toarray().T)
    np.testing.assert_array_equal(S.toarray(), ti.hessian(p.run, wrt=p.x, out=p.U, sparse=True).toarray())


@pytest.mark.parametrize("transposed", [False, True])
def test_an_arrow_needs_no_product_for_each_column(transposed):
    n = 150
    x, y = (ti.field(ti.f64, shape=n) for _ in range(2))

    @ti.kernel
    def run():
        for i in x:
            y[i] += x[i] ** 2
            if ti.static(transposed):
                y[i] += x[0]
            else:
                y[0] += ti.sin(x[i])

    x.from_numpy(np.linspace(1, 2, n))
    J = ti.linearize(run, wrt=x, out=y)
    assert_found(J, J.sparse())
    assert J.compression.colours == 2
    assert J.compression.row_colours == (0 if transposed else 1)
    assert J.compression.forward + J.compression.reverse < n / 3


def test_an_arrow_with_both_arms_as_a_hessian():
    n = 100
    x, y = ti.field(ti.f64, shape=n), ti.field(ti.f64, shape=())

    @ti.kernel
    def run():
        for i in x:
            y[None] += x[i] ** 3 + x[i] * x[0] ** 2

    x.from_numpy(np.linspace(1, 2, n))
    H = linearized_gradient(run, x, y)
    assert_found(H, H.sparse(symmetric=True))
    assert H.compression.colours == 2
    assert H.compression.forward < n


@pytest.mark.parametrize(("height", "width"), [(60, 7), (7, 60), (300, 3), (3, 300), (1, 50), (50, 1)])
def test_rectangles(height, width):
    x, y = ti.field(ti.f64, shape=width), ti.field(ti.f64, shape=height)
    longer = max(height, width)

    @ti.kernel
    def run():
        for k in range(longer):
            y[k * height // longer] += x[k * width // longer] ** 2 * (k + 1)

    x.from_numpy(np.linspace(1, 2, width))
    J = ti.linearize(run, wrt=x, out=y)
    assert_found(J, J.sparse())
    assert J.compression.colours <= 1 + 2 * (min(height, width) > 1)
    assert J.compression.forward + J.compression.reverse < 90


def test_a_full_matrix():
    n = 70
    x, y = (ti.field(ti.f64, shape=n) for _ in range(2))

    @ti.kernel
    def run():
        for i, j in ti.ndrange(n, n):
            y[i] += ti.sin(x[j] * (i + 1))

    x.from_numpy(np.linspace(1, 2, n))
    J = ti.linearize(run, wrt=x, out=y)
    assert_found(J, J.sparse())
    assert J.compression.colours == n
    assert J.compression.forward < 5 * n


def test_a_random_pattern():
    n = 400
    A = random_array((n, n), density=0.01, rng=np.random.default_rng(3), format="coo")
    x, y = (ti.field(ti.f64, shape=n) for _ in range(2))

    @ti.kernel
    def run(rows: ti.types.ndarray(), columns: ti.types.ndarray(), values: ti.types.ndarray()):
        for k in range(rows.shape[0]):
            y[rows[k]] += values[k] * x[columns[k]]

    rows, columns = (c.astype(np.int32) for c in A.coords)
    J = ti.linearize(lambda: run(rows, columns, A.data), wrt=x, out=y)
    S = J.sparse()
    assert_found(J, S)
    np.testing.assert_allclose(S.toarray(), A.toarray())
    assert J.compression.colours < 2 * J.compression.bound


def test_a_matrix_without_entries():
    x, y = ti.field(ti.f64, shape=90), ti.field(ti.f64, shape=40)

    @ti.kernel
    def run():
        for i in y:
            y[i] = ti.floor(x[i])

    S = ti.jacobian(run, wrt=x, out=y, sparse=True)
    assert S.shape == (40, 90)
    assert S.nnz == 0


@pytest.mark.slow
def test_several_fields_of_numbers_and_vectors():
    n = 12
    u, v = ti.Vector.field(3, ti.f64, shape=(n, n)), ti.field(ti.f64, shape=n)
    s, t = ti.field(ti.f64, shape=(n, n)), ti.Matrix.field(2, 2, ti.f64, shape=n)

    @ti.kernel
    def run():
        for i, j in u:
            s[i, j] = u[i, j].norm_sqr() * v[i] + u[i, (j + 1) % n].x
        for i in v:
            t[i] = ti.Matrix([[v[i], u[i, 0].y], [0.0, v[(i + 3) % n] ** 2]])

    random = np.random.default_rng(0)
    u.from_numpy(random.uniform(1, 2, (n, n, 3)))
    v.from_numpy(random.uniform(1, 2, n))
    J = ti.linearize(run, wrt=[u, v], out=[s, t])
    S = J.sparse()
    assert_found(J, S)
    assert J.compression.colours <= 7
    blocks = ti.jacobian(run, wrt=[u, v], out=[s, t])
    first = blocks[s][v].reshape(n * n, n)
    np.testing.assert_allclose(S[: n * n, 3 * n * n :].toarray(), first, rtol=1e-13)


def test_numpy_arrays():
    @ti.kernel
    def run(a: ti.types.ndarray(), b: ti.types.ndarray()):
        for i in range(b.shape[0]):
            b[i] = a[i, 0] * a[i, 1] ** 2

    a, b = np.random.default_rng(0).uniform(1, 2, (80, 2)), np.zeros(80)
    J = ti.linearize(lambda: run(a, b), wrt=a, out=b)
    assert_found(J, J.sparse())
    assert J.compression.colours == 2


def test_single_precision():
    p = line(200, ti.f32)
    J = ti.linearize(p.run, wrt=p.x, out=p.y)
    S = J.sparse()
    assert S.dtype == np.float32
    assert_found(J, S, rtol=1e-5, atol=1e-6)


def test_many_steps_and_large_numbers():
    o = oscillators(n=60, steps=4)
    o.k.fill(1e8)
    J = ti.linearize(o.run, wrt=[o.q, o.k], out=[o.p, o.q, o.energy])
    dense = J.dense()
    np.testing.assert_allclose(J.sparse().toarray(), dense, atol=1e-12 * np.abs(dense).max())


@pytest.mark.slow
def test_nothing_changes():
    o = oscillators(n=40)
    before = [f.to_numpy().tobytes() for f in o.fields]
    ti.jacobian(o.run, wrt=o.q, out=o.p, sparse=True)
    ti.hessian(o.run, wrt=o.q, out=o.energy, sparse=True)
    assert [f.to_numpy().tobytes() for f in o.fields] == before
