"""Tangents along several directions in one pass are those of one pass for each."""

import numpy as np
import pytest

import dsim as ti
from dsim.runtime.recording.tangent_batch import TangentBatch
from tests.runtime.recording.batches import field, recorded


@pytest.fixture(autouse=True)
def _fresh():
    ti.init(default_fp=ti.f64)


def like_single_passes(run, params, outputs, exactly=False):
    """Compares tangents along three directions with those of a forward mode for each."""
    rng = np.random.default_rng(0)
    seeds = [rng.uniform(-1, 1, (3, *f.full_shape)).astype(f.dtype.numpy) for f in params]
    recorder = recorded(run)
    batch = TangentBatch(params, 4)
    with batch.along(seeds):
        recorder.replay()
    found = [batch.tangents(f) for f in outputs]
    values = [f.to_numpy() for f in outputs]
    for n in range(3):
        recorder.restore()
        with ti.ad.FwdMode(outputs, params, [s[n] for s in seeds]):
            recorder.replay()
        for f, tangents, value in zip(outputs, found, values, strict=True):
            right = f.dual.to_numpy().reshape(f.full_shape)
            assert right.any()
            tolerance = {"rtol": 0.0 if exactly else 1e-13, "atol": 0.0 if exactly else 1e-14}
            np.testing.assert_allclose(tangents[n], right, **tolerance)
            np.testing.assert_allclose(value, f.to_numpy(), **tolerance)


def test_loops_branches_and_integers():
    x, n, y = field(4, values=[0.5, 1.5, 2.5, 3.5]), ti.field(ti.i32, shape=4), field(4)
    n.from_numpy(np.arange(4, dtype=np.int32))

    @ti.kernel
    def run():
        for i in x:
            a, b = x[i], x[(i + 1) % 4]
            while a < 10.0:
                a, b = a * a + 1.0, a * b
            for _ in range(n[i]):
                if a > b:
                    b += x[i]
                else:
                    a = ti.sin(b)
            y[i] = a + b
            n[i] += 1

    like_single_passes(run, [x], [y])


def test_accumulations():
    x = field(5, values=[0.5, 2.0, -1.0, 2.0, 1.5])
    total, low, high, product, old = field(), field(), field(), field(), field(5)

    @ti.kernel
    def run():
        product[None] = 1.0
        low[None] = 10.0
        for i in x:
            total[None] += x[i] ** 2
            ti.atomic_min(low[None], x[i] * 3.0)
            ti.atomic_max(high[None], x[i] * 2.0)
        ti.loop_config(serialize=True)
        for i in x:
            product[None] *= x[i]
            old[i] = ti.atomic_add(total[None], x[i] * product[None])

    like_single_passes(run, [x], [total, low, high, product, old])


def test_writes_in_place():
    x, y = field(6, values=np.linspace(0.5, 1.5, 6)), field(6)

    @ti.kernel
    def run():
        for i in x:
            for k in range(3):
                x[i] = ti.sin(x[i]) * (k + 1)
                y[i] += x[i]
        ti.loop_config(serialize=True)
        for i in range(5):
            x[i + 1] += x[i] * y[i]

    like_single_passes(run, [x], [x, y])


def test_vectors_structs_and_private_buffers():
    state = ti.Struct.field({"at": ti.types.vector(2, ti.f64), "mass": ti.f64}, shape=3)
    state.at.from_numpy(np.arange(6.0).reshape(3, 2) + 0.5)
    state.mass.from_numpy(np.array([1.0, 2.0, 3.0]))
    out = ti.Vector.field(2, ti.f64, shape=3)

    @ti.kernel
    def run():
        for i in state:
            local = ti.Matrix.zero(ti.f64, 2, 2)
            for k in range(2):
                local[k, 1 - k] = state[i].at[k] * state[i].mass
            out[i] = local @ state[i].at.normalized()

    like_single_passes(run, [state.at, state.mass], [out])


def test_a_func_with_a_rule_of_its_own():
    x, y = field(3, values=[0.5, 1.0, 2.0]), field(3)

    @ti.func
    def plain(a):
        return ti.sqrt(a)

    @ti.func
    def slope(a, da, *, result):
        return 7.0 * da / result

    root = plain.derivative(jvp=slope)

    @ti.kernel
    def run():
        for i in x:
            y[i] = root(x[i]) * x[i]

    like_single_passes(run, [x], [y])


def test_what_python_writes():
    x, y, v = field(3, values=[1.0, 2.0, 3.0]), field(3), ti.Vector.field(2, ti.f64, shape=3)

    @ti.kernel
    def product():
        ti.loop_config(serialize=True)
        for i in x:
            y[i] += x[i] * y[(i + 1) % 3]
            v[i][0] += y[i]

    def run():
        y.copy_from(x)
        product()
        y[1] = 4.0
        v.get_scalar_field(1).copy_from(y)
        product()
        x.fill(2.0)
        product()

    like_single_passes(run, [x], [y, v])


@pytest.mark.parametrize("real", [ti.f32, ti.f64])
def test_the_same_bits_without_fast_math(real):
    ti.init(default_fp=real, fast_math=False)
    n = 40
    x, y, total = ti.field(real, shape=n), ti.field(real, shape=n), ti.field(real, shape=())
    x.from_numpy(np.linspace(0.1, 4.0, n).astype(real.numpy))

    @ti.kernel
    def run():
        for i in x:
            y[i] = ti.sin(x[i]) / (1.0 + x[i] * x[(i * 7) % n])
        ti.loop_config(serialize=True)
        for i in x:
            total[None] += y[i] * x[i]

    like_single_passes(run, [x], [y, total], exactly=True)
