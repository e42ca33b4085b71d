"""Tapes over kernels whose own loops overwrite values that their gradient needs."""

from __future__ import annotations

import numpy as np
import pytest

import dsim as ti
from dsim.backends.cpu.runtime import runtime
from dsim.backends.llvm.frame import MEMORY_LEFT

pytestmark = pytest.mark.slow

W = np.array([0.5, -1.25, 2.0, 0.75])
START = np.array([-0.2556, 0.5, 1.25, -0.9])


@pytest.fixture(autouse=True, params=["f64", "f32"])
def dtype(request):
    ti.init(default_fp=getattr(ti, request.param))
    return getattr(ti, request.param)


def _fields(dtype, **shapes):
    return [ti.field(dtype, shape=shape, needs_grad=True, name=name) for name, shape in shapes.items()]


def _taped(dtype, x, run):
    """The gradient of ``Σ w x`` after `run`; all else is left as `run` leaves it."""
    (loss,) = _fields(dtype, loss=())
    w = ti.field(dtype, shape=W.shape)
    w.from_numpy(W)

    @ti.kernel
    def total():
        for i in w:
            loss[None] += w[i] * x[i]

    given = x.to_numpy()
    with ti.Tape(loss):
        run()
        total()
    left = x.to_numpy()
    x.from_numpy(given)
    run()
    np.testing.assert_array_equal(left, x.to_numpy())
    return x.grad.to_numpy()


def _expected(step, x=START):
    """``wᵀ ∂step/∂x`` by complex steps, which have no error of their own."""
    rows = []
    for i in range(x.size):
        moved = x.astype(complex)
        moved[i] += 1e-30j
        rows.append(np.sum(W * step(moved).imag) / 1e-30)
    return np.array(rows)


def _close(dtype, actual, expected):
    tolerance = 1e-12 if dtype == ti.f64 else 1e-5
    np.testing.assert_allclose(actual, expected, rtol=tolerance, atol=tolerance)


def test_sines_of_sines(dtype):
    (x,) = _fields(dtype, x=4)
    x.from_numpy(START)

    @ti.kernel
    def sines():
        for i in x:
            for _ in range(3):
                x[i] = ti.sin(x[i])

    _close(dtype, _taped(dtype, x, sines), _expected(lambda v: np.sin(np.sin(np.sin(v)))))


def test_steps_of_time_in_one_kernel(dtype):
    x, y = _fields(dtype, x=4, y=4)
    x.from_numpy(START)

    @ti.kernel
    def swing(steps: int):
        for _ in range(steps):
            for i in range(4):
                x[i] = ti.sin(x[i]) + 0.1 * y[i]
            for i in range(4):
                y[i] += ti.cos(y[i]) * x[(i + 1) % 4]

    def twin(x):
        y = np.zeros(4, complex)
        for _ in range(5):
            x = np.sin(x) + 0.1 * y
            y = y + np.cos(y) * np.roll(x, -1)
        return x

    def run():
        y.fill(0.0)
        swing(5)

    with pytest.warns(ti.DsimWarning, match="serially"):
        swing(0)
    _close(dtype, _taped(dtype, x, run), _expected(twin))


def _relaxed(x):
    """What the next test's kernels do."""
    a = np.array([x, 2 * x, 3 * x])
    for row in a:
        for _ in range(2):
            for j in range(4):
                row[j] = np.sin(row[j]) * row[(j + 1) % 4]
    return a[0] + a[1] * a[2]


def test_rows_with_neighbours(dtype):
    a, x = _fields(dtype, a=(3, 4), x=4)
    x.from_numpy(START)

    @ti.kernel
    def spread():
        for i, j in a:
            a[i, j] = x[j] * (i + 1)

    @ti.kernel
    def relax():
        for i in range(3):
            for _ in range(2):
                for j in range(4):
                    a[i, j] = ti.sin(a[i, j]) * a[i, (j + 1) % 4]

    @ti.kernel
    def gather():
        for j in x:
            x[j] = a[0, j] + a[1, j] * a[2, j]

    def run():
        spread()
        relax()
        gather()

    _close(dtype, _taped(dtype, x, run), _expected(_relaxed))


def test_places_that_are_data_in_a_while_loop(dtype):
    (x,) = _fields(dtype, x=4)
    x.from_numpy(START)
    place = ti.field(int, shape=6)
    steps = [0, 2, 2, 1, 0, 3]
    place.from_numpy(np.array(steps, "i4"))

    @ti.kernel
    def walk():
        for _ in range(1):
            t = 0
            while t < 6:
                i = place[t]
                if x[i] > 0.0:
                    x[i] *= x[(i + 1) % 4]
                else:
                    x[i] += ti.sin(x[i])
                t += 1

    def twin(x):
        x = x.copy()
        for i in steps:
            x[i] = x[i] * x[(i + 1) % 4] if x[i].real > 0 else x[i] + np.sin(x[i])
        return x

    _close(dtype, _taped(dtype, x, walk), _expected(twin))


def test_integers_that_steer(dtype):
    x, y = _fields(dtype, x=4, y=8)
    x.from_numpy(START)
    y.from_numpy(np.linspace(0.5, 1.5, 8))
    flag, used = ti.field(int, shape=4), ti.field(int, shape=4)

    @ti.kernel
    def flip():
        for i in x:
            for _ in range(5):
                if flag[i] == 1:
                    x[i] = ti.sin(x[i]) * y[used[i]]
                    used[i] += 1
                flag[i] = 1 - flag[i]

    def run():
        flag.fill(0)
        flag[2] = 1
        used.fill(1)
        flip()

    def twin(x):
        y, out = np.linspace(0.5, 1.5, 8), []
        for i in range(4):
            v, on, at = x[i], i == 2, 1
            for _ in range(5):
                if on:
                    v, at = np.sin(v) * y[at], at + 1
                on = not on
            out.append(v)
        return np.array(out)

    _close(dtype, _taped(dtype, x, run), _expected(twin))
    np.testing.assert_array_equal(used.to_numpy(), [3, 3, 4, 3])


def test_a_product_of_all(dtype):
    x, product = _fields(dtype, x=4, product=())
    x.from_numpy(START)

    @ti.kernel
    def multiply():
        for i in x:
            ti.atomic_mul(product[None], x[i])

    @ti.kernel
    def share():
        for i in x:
            x[i] += product[None]

    def run():
        product[None] = 2.0
        multiply()
        share()

    _close(dtype, _taped(dtype, x, run), _expected(lambda v: v + 2 * np.prod(v)))


def test_places_handed_out_in_order(dtype):
    """Which iteration gets which place depends on the order: inside a tape the kernel keeps it."""
    x, y = _fields(dtype, x=4, y=4)
    x.from_numpy(START)
    count = ti.field(int, shape=())

    @ti.kernel
    def queue():
        for i in x:
            if x[i] > 0.0:
                place = ti.atomic_add(count[None], 1)
                y[place] += x[i] ** 2

    @ti.kernel
    def weigh():
        for i in x:
            x[i] = y[i] * y[i] + x[i]

    def run():
        count[None] = 0
        y.fill(0.0)
        queue()
        weigh()

    def twin(x):
        kept = [v for v in x if v.real > 0]
        y = np.array([v**2 for v in kept] + [0.0] * (4 - len(kept)))
        return y * y + x

    queue()
    assert count[None] == 2
    with pytest.warns(ti.DsimWarning, match="repeats this atomic, in the same order"):
        actual = _taped(dtype, x, run)
    _close(dtype, actual, _expected(twin))


def test_forward_mode_over_a_tape(dtype):
    (x,) = _fields(dtype, x=4)
    (loss,) = _fields(dtype, loss=())
    x.from_numpy(START)

    @ti.kernel
    def sines():
        ti.loop_config(serialize=True)
        for k in range(12):
            x[k % 4] = ti.sin(x[k % 4])

    @ti.kernel
    def total():
        for i in x:
            loss[None] += x[i] ** 2

    with ti.ad.FwdMode(loss=x.grad, param=x, seed=[1.0, 1.0, 1.0, 1.0]), ti.Tape(loss):
        sines()
        total()

    def slope(x):
        a, b = np.sin(x), np.sin(np.sin(x))
        return 2 * np.sin(b) * np.cos(b) * np.cos(a) * np.cos(x)

    _close(dtype, x.grad.dual.to_numpy(), slope(START + 1e-30j).imag / 1e-30)


def test_both_branches_store_the_same(dtype):
    (x,) = _fields(dtype, x=4)

    @ti.kernel
    def steps():
        ti.loop_config(serialize=True)
        for k in range(4):
            x[1 + k % 2] += ti.sin(x[0]) * x[3]
            if k % 2 == 0:
                x[0] = 0.5
            else:
                x[1] += x[0] ** 2 * x[3]
                x[0] = 0.5

    def step(x):
        x = x.copy()
        for k in range(4):
            x[1 + k % 2] += np.sin(x[0]) * x[3]
            if k % 2 == 1:
                x[1] += x[0] ** 2 * x[3]
            x[0] = 0.5
        return x

    x.from_numpy(START)
    _close(dtype, _taped(dtype, x, steps), _expected(step))


def test_a_kernel_that_a_tape_runs_in_order_says_so(dtype):
    x, y = _fields(dtype, x=4, y=4)
    count = ti.field(int, shape=())

    @ti.kernel
    def queue():
        for i in x:
            y[ti.atomic_add(count[None], 1)] += x[i] ** 2

    found = {(d.code, d.level.value) for d in queue.check()}
    assert found == {("overwrites", "note"), ("serial", "warning")}
    assert "inside a tape this loop runs serially" in str(queue.check())


def test_no_memory_for_what_a_loop_overwrites(dtype):
    (x,) = _fields(dtype, x=4)
    (loss,) = _fields(dtype, loss=())

    @ti.kernel
    def sines():
        ti.loop_config(serialize=True)
        for k in range(100_000):
            x[k % 4] = ti.sin(x[k % 4]) + 0.1

    @ti.kernel
    def total():
        for i in x:
            loss[None] += x[i]

    def run():
        with ti.Tape(loss):
            sines()
            total()
            block[MEMORY_LEFT] = 1 << 20

    x.from_numpy(START)
    sines()
    left = x.to_numpy()
    x.from_numpy(START)
    block = runtime()._block  # its limit of memory in use
    limit = block[MEMORY_LEFT]
    with pytest.raises(ti.LaunchError, match="no memory to log more than 8192 values of `x`") as refused:
        run()
    block[MEMORY_LEFT] = limit
    assert "x[k % 4] = ti.sin(x[k % 4]) + 0.1" in str(refused.value)
    np.testing.assert_array_equal(x.to_numpy(), left)
