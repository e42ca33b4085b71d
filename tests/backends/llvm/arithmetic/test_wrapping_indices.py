"""Indices that wrap around in a narrow type, several per loop, as in periodic stencils."""

import re

import numpy as np
import pytest

import dsim as ti

N = 64
ROWS = {
    "remainder": lambda j: (j - 1) % 16,
    "mask": lambda j: (j + 11) & 15,
    "by_hand": lambda j: (j + 5) % 16,
    "narrow": lambda j: (j * 4 & 255) // 4,
    "shifted": lambda j: (j * 8 & 255) >> 3,
    "negative": lambda j: (j + 15) % 16,
    "filled": lambda j: (j - 1) % 16,
    "inverted": lambda j: (j - 1) % 16,
}


@pytest.fixture(autouse=True)
def _after():
    ti.init(default_fp=ti.f64)


@ti.func
def place(kind: ti.template(), j):
    k = j
    if ti.static(kind == "remainder"):
        k = (j - 1) % 16
    elif ti.static(kind == "mask"):
        k = (j + 11) & 15
    elif ti.static(kind == "by_hand"):
        k = j + 5 - (j + 5) // 16 * 16
    elif ti.static(kind == "narrow"):
        k = ti.cast(ti.cast(j * 4, ti.u8), ti.i32) // 4
    elif ti.static(kind == "shifted"):
        k = ti.cast(ti.cast(j * 8, ti.u8) >> 3, ti.i32)
    elif ti.static(kind == "negative"):
        k = ti.raw_mod(j + 15, -16)
    elif ti.static(kind == "filled"):
        k = ((j - 1) | -16) + 16
    else:
        k = ~(~(j - 1) | ~15)
    return k


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [ti.i32, ti.f32, ti.f64, ti.u8])
@pytest.mark.parametrize("length", [16, 24, 64])
@pytest.mark.parametrize("kind", ROWS)
def test_two_rows_at_one_column(kind, length, dtype):
    a, y = ti.field(dtype, (16, N)), ti.field(dtype, (16, length))
    start = np.arange(16 * N).reshape(16, N).astype(dtype.numpy)
    a.from_numpy(start)

    @ti.kernel
    def run():
        for i, j in y:
            k = place(kind, j)
            y[i, j] = a[(i - 1) % 16, k] + a[(i + 1) % 16, k]

    run()
    at = [ROWS[kind](j) for j in range(length)]
    wanted = np.roll(start, 1, 0)[:, at] + np.roll(start, -1, 0)[:, at]
    np.testing.assert_array_equal(y.to_numpy(), wanted)


@pytest.mark.parametrize("n", [8, 16, 32, 64])
def test_all_neighbours_on_a_torus(n):
    a, y = ti.field(ti.i32, (n, n)), ti.field(ti.i32, (n, n))
    start = np.random.default_rng(n).integers(0, 100, (n, n), dtype=np.int32)
    a.from_numpy(start)

    @ti.func
    def around(i, j):
        total = 0
        for di, dj in ti.static(ti.ndrange((-1, 2), (-1, 2))):
            if ti.static(di != 0 or dj != 0):
                total += a[(i + di) % n, (j + dj) % n]
        return total

    @ti.kernel
    def run():
        for i, j in a:
            y[i, j] = around(i, j)

    run()
    shifts = [(i, j) for i in (-1, 0, 1) for j in (-1, 0, 1) if i or j]
    np.testing.assert_array_equal(y.to_numpy(), sum(np.roll(start, s, (0, 1)) for s in shifts))


@pytest.mark.filterwarnings("ignore:warning.serial:dsim.DsimWarning")
def test_in_a_while_loop_and_carried():
    n = 48
    a, b, y = ti.field(ti.f64, 16), ti.field(ti.f64, 8), ti.field(ti.f64, (2, n))
    start = np.arange(16.0)
    a.from_numpy(start)
    b.from_numpy(100.0 * start[:8])

    @ti.kernel
    def run():
        for _ in range(1):
            j = 0
            while j < n:
                y[0, j] = a[(j - 1) & 15] + b[(j + 3) & 7]
                j += 1
        for _ in range(1):
            k = 15
            for j in range(n):
                y[1, j] = a[k] + b[j % 8]
                k = (k + 1) & 15

    run()
    j = np.arange(n)
    np.testing.assert_array_equal(y.to_numpy()[0], start[(j - 1) % 16] + 100 * ((j + 3) % 8))
    np.testing.assert_array_equal(y.to_numpy()[1], start[(j + 15) % 16] + 100 * (j % 8))


@pytest.mark.parametrize("dtype", [ti.i8, ti.i32, ti.i64, ti.u8, ti.u32])
@pytest.mark.parametrize("n", [1, 2, 7, 8, 16, 100])
def test_remainders_of_all_near_dividends(n, dtype):
    offsets = (-n, 1 - n, -1, 0, 1, n - 1, n) if dtype.kind == "int" else (0, 1, n - 1, n)
    y = ti.field(ti.i32, (len(offsets), n))

    @ti.kernel
    def run():
        for j in range(n):
            for k in ti.static(range(len(offsets))):
                y[k, j] = (ti.cast(j, dtype) + ti.cast(offsets[k], dtype)) % ti.cast(n, dtype)

    run()
    j = np.arange(n).astype(dtype.numpy)  # whose sums wrap around as the kernel's do
    np.testing.assert_array_equal(y.to_numpy(), [(j + j.dtype.type(o)) % j.dtype.type(n) for o in offsets])


@pytest.mark.parametrize("n", [500, 512])
def test_a_torus_becomes_vectors(n):
    a, y = ti.field(ti.f32, (n, n)), ti.field(ti.f32, (n, n))

    @ti.kernel
    def run():
        for i, j in y:
            y[i, j] = a[(i - 1) % n, (j - 1) % n] + a[(i + 1) % n, (j + 1) % n]

    run()
    assert re.search(r"load <\d+ x float>", run.primal.llvm)


@pytest.mark.slow
def test_derivatives():
    n = 32
    x, y = ti.field(ti.f64, (n, n), needs_grad=True), ti.field(ti.f64, (n, n), needs_grad=True)
    w, loss = ti.field(ti.f64, (n, n)), ti.field(ti.f64, (), needs_grad=True)
    rng = np.random.default_rng(1)
    values, weights = rng.normal(size=(2, n, n))
    x.from_numpy(values)
    w.from_numpy(weights)

    @ti.kernel
    def run():
        for i, j in y:
            up, down = (i - 1) % n, (i + 1) % n
            left, right = (j - 1) % n, (j + 1) % n
            y[i, j] = x[up, left] * x[down, left] + x[up, right] * x[down, right] - x[i, j] ** 2

    @ti.kernel
    def weigh():
        for i, j in y:
            loss[None] += w[i, j] * y[i, j]

    with ti.ad.Tape(loss):
        run()
        weigh()

    def at(a, i, j):
        return np.roll(a, (-i, -j), (0, 1))

    wanted = -2.0 * weights * values
    for i, j in ((-1, -1), (1, -1), (-1, 1), (1, 1)):
        wanted += at(weights * at(values, -i, j), -i, -j)
    np.testing.assert_allclose(x.grad.to_numpy(), wanted, rtol=1e-12, atol=1e-12)
