"""Tangents along several directions in one pass."""

import threading

import numpy as np
import pytest

import dsim as ti
from dsim.diagnostics import GradientError
from dsim.runtime.checking.replays import Recorder
from dsim.runtime.launching.contexts import dispatch
from dsim.runtime.recording import tangent_batch
from dsim.runtime.recording.tangent_batch import TangentBatch, chunks


@pytest.fixture(autouse=True)
def _fresh():
    ti.init(default_fp=ti.f64)


def _field(*shape, values=None):
    made = ti.field(ti.f64, shape=shape)
    if values is not None:
        made.from_numpy(np.asarray(values, np.float64))
    return made


def _recorded(run):
    recorder = Recorder()
    with recorder:
        run()
    recorder.restore()
    return recorder


def _pushed(run, params, outputs, seeds, width=None):
    """The tangents of the outputs: `run` recorded, put back, and repeated in a batch."""
    recorder = _recorded(run)
    batch = TangentBatch(params, width or len(seeds[0]))
    with batch.along(seeds):
        recorder.replay()
    return [batch.tangents(f) for f in outputs]


def test_a_jacobian():
    x, y = _field(3, values=[1.0, 2.0, 3.0]), _field(2)

    @ti.kernel
    def run():
        y[0] = x[0] * x[1]
        y[1] = ti.sin(x[2])

    (J,) = _pushed(run, [x], [y], [np.eye(3)])
    np.testing.assert_allclose(J.T, [[2.0, 1.0, 0.0], [0.0, 0.0, np.cos(3.0)]])


def test_no_tangent_of_the_fields_changes():
    x, y = _field(values=2.0), _field()

    @ti.kernel
    def cube():
        y[None] = x[None] ** 3

    with ti.ad.FwdMode(loss=y, param=x):
        cube()
    (found,) = _pushed(cube, [x], [y], [np.array([1.0, 10.0])])
    assert found.tolist() == [12.0, 120.0]
    assert (x.dual[None], y.dual[None]) == (0.0, 12.0)


def test_what_no_seed_reaches():
    x, y, z = _field(values=2.0), _field(), _field(3)

    @ti.kernel
    def both():
        y[None] = x[None] ** 2
        z[0] = 5.0

    seeds = [np.array([1.0, 2.0])]
    of_y, of_z, of_x = _pushed(both, [x], [y, z, x], seeds)
    assert of_y.tolist() == [4.0, 8.0]
    assert (of_z.shape, of_z.any()) == ((2, 3), False)
    assert of_x.tolist() == [1.0, 2.0]


def test_fewer_directions_than_lanes():
    x, y = _field(values=2.0), _field()

    @ti.kernel
    def cube():
        y[None] = x[None] ** 3

    (found,) = _pushed(cube, [x], [y], [np.array([1.0, 2.0, 3.0])], width=4)
    assert found.tolist() == [12.0, 24.0, 36.0]


def test_entered_again():
    """Nothing is left of the directions before, and the same kernels serve again."""
    x, y, z = _field(values=2.0), _field(), _field()

    @ti.kernel
    def first():
        y[None] += x[None] ** 2

    @ti.kernel
    def then():
        z[None] += y[None] * x[None]

    def run():
        first()
        then()
        first()

    recorder = _recorded(run)
    batch = TangentBatch([x], 4)
    for seed in (np.array([1.0, 2.0, 3.0, 4.0]), np.array([1.0, -1.0])):
        recorder.restore()
        with batch.along([seed]):
            recorder.replay()
        np.testing.assert_array_equal(batch.tangents(z), 12.0 * seed)
        np.testing.assert_array_equal(batch.tangents(y), 8.0 * seed)
    made = len(batch._bound)
    with batch.along([seed]):
        recorder.replay()
    assert len(batch._bound) == made


def test_loops_branches_and_integers():
    x, n, y = _field(4, values=[0.5, 1.5, 2.5, 3.5]), ti.field(ti.i32, shape=4), _field(4)
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

    _like_single_passes(run, [x], [y])


def test_accumulations():
    x = _field(5, values=[0.5, 2.0, -1.0, 2.0, 1.5])
    total, low, high, product, old = _field(), _field(), _field(), _field(), _field(5)

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

    _like_single_passes(run, [x], [total, low, high, product, old])


def test_writes_in_place():
    x, y = _field(6, values=np.linspace(0.5, 1.5, 6)), _field(6)

    @ti.kernel
    def run():
        for i in x:
            for k in range(3):
                x[i] = ti.sin(x[i]) * (k + 1)
                y[i] += x[i]
        ti.loop_config(serialize=True)
        for i in range(5):
            x[i + 1] += x[i] * y[i]

    _like_single_passes(run, [x], [x, y])


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

    _like_single_passes(run, [state.at, state.mass], [out])


def test_a_func_with_a_rule_of_its_own():
    x, y = _field(3, values=[0.5, 1.0, 2.0]), _field(3)

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

    _like_single_passes(run, [x], [y])


def test_what_python_writes():
    x, y, v = _field(3, values=[1.0, 2.0, 3.0]), _field(3), ti.Vector.field(2, ti.f64, shape=3)

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

    _like_single_passes(run, [x], [y, v])


def test_gradients_and_tangents_as_values():
    """What ran in a forward mode around a tape is differentiated like any other launch."""
    x, y = ti.field(ti.f64, shape=(), needs_grad=True), ti.field(ti.f64, shape=(), needs_grad=True)
    x[None] = 2.0

    @ti.kernel
    def power():
        y[None] = x[None] ** 4

    def run():
        with ti.ad.FwdMode(loss=y, param=x), ti.Tape(y):
            power()

    found = _pushed(run, [x], [y, x.grad, y.dual, x.grad.dual], [np.array([1.0, 10.0])])
    assert [f.tolist() for f in found] == [[32.0, 320.0], [48.0, 480.0], [48.0, 480.0], [48.0, 480.0]]


def test_a_gradient_as_param():
    x, y = ti.field(ti.f64, shape=3, needs_grad=True), _field(3)

    @ti.kernel
    def descend():
        for i in x:
            y[i] = x[i] - 0.5 * x.grad[i] ** 2

    x.grad.from_numpy(np.array([1.0, 2.0, 3.0]))
    (found,) = _pushed(descend, [x.grad], [y], [np.eye(3)])
    np.testing.assert_array_equal(found, -np.diag([1.0, 2.0, 3.0]))


def test_arrays():
    x, y = np.array([1.0, 2.0, 3.0]), _field(3)

    @ti.kernel
    def squares(a: ti.types.ndarray(), factor: float):
        for i in y:
            y[i] = factor * a[i] ** 2

    made = ti.ndarray(ti.f64, shape=3)
    made.from_numpy(x)
    (found,) = _pushed(lambda: squares(made, 3.0), [made], [y], [np.eye(3)])
    np.testing.assert_array_equal(found, np.diag(6 * x))


def test_prints_once(capsys):
    x, y = _field(values=2.0), _field()

    @ti.kernel
    def run():
        y[None] = x[None] ** 2
        print("here", y[None])

    recorder = _recorded(run)
    capsys.readouterr()
    batch = TangentBatch([x], 4)
    with batch.along([np.ones(4)]):
        recorder.replay()
    assert capsys.readouterr().out == "here 4.0\n"


def test_faults_are_those_of_the_values():
    ti.init(default_fp=ti.f64, debug=True)
    x, y, at = _field(3, values=[1.0, 2.0, 3.0]), _field(3), ti.field(ti.i32, shape=())

    @ti.kernel
    def run():
        for i in x:
            y[i] = x[i + at[None]] ** 2

    recorder = _recorded(run)
    at[None] = 1
    batch = TangentBatch([x], 4)
    with pytest.raises(ti.DsimError, match=r"`x`|x\["), batch.along([np.ones((4, 3))]):
        recorder.replay()
    with batch.along([np.ones((4, 3))]):
        pass  # it has ended, and may begin again


def test_random_numbers_are_shared():
    x, y = _field(4, values=np.arange(4.0)), _field(4)

    @ti.kernel
    def run():
        for i in x:
            y[i] = x[i] * ti.random()

    recorder = Recorder()
    with recorder:
        run()
    drawn = y.to_numpy()
    batch = TangentBatch([x], 2)
    with batch.along([np.stack([np.ones(4), np.arange(4.0)])]):
        recorder.replay()
    np.testing.assert_array_equal(y.to_numpy(), drawn)
    np.testing.assert_array_equal(batch.tangents(y)[1], drawn)


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

    _like_single_passes(run, [x], [y, total], exactly=True)


def test_a_launch_of_another_thread():
    x, y = _field(values=2.0), _field()

    @ti.kernel
    def cube():
        y[None] = x[None] ** 3

    recorder = _recorded(cube)
    batch, told = TangentBatch([x], 2), []

    def elsewhere():
        for form, args in recorder.launches:
            try:
                batch.launch(form, args)
            except GradientError as error:
                told.append(error)

    with batch.along([np.ones(2)]):
        thread = threading.Thread(target=elsewhere)
        thread.start()
        thread.join()
        dispatch(*recorder.launches[0])
    assert len(told) == 1
    assert batch.tangents(y).tolist() == [12.0, 12.0]


def test_directions_in_chunks():
    x, y = _field(values=2.0), _field()

    @ti.kernel
    def cube():
        y[None] = x[None] ** 3

    launches = _recorded(cube).launches

    def sizes(count):
        return [(part.start, part.stop, width) for part, width in chunks(count, launches)]

    assert sizes(0) == []
    assert sizes(1) == [(0, 1, 1)]
    assert sizes(3) == [(0, 3, 4)]
    assert sizes(9) == [(0, 4, 4), (4, 8, 4), (8, 9, 1)]
    assert sizes(6) == [(0, 4, 4), (4, 6, 2)]


@pytest.mark.parametrize(("limit", "value"), [("_MOST_BYTES", 40), ("_MOST_STATEMENTS", 11)])
def test_large_programs_take_fewer_at_once(monkeypatch, limit, value):
    x, y = _field(values=2.0), _field()

    @ti.kernel
    def cube():
        y[None] = x[None] ** 3

    launches = _recorded(cube).launches
    monkeypatch.setattr(tangent_batch, limit, value)
    assert {width for _, width in chunks(8, launches)} == {2}
    monkeypatch.setattr(tangent_batch, limit, 0)
    assert [width for _, width in chunks(2, launches)] == [1, 1]


def _like_single_passes(run, params, outputs, exactly=False):
    rng = np.random.default_rng(0)
    seeds = [rng.uniform(-1, 1, (3, *f.full_shape)).astype(f.dtype.numpy) for f in params]
    recorder = _recorded(run)
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
