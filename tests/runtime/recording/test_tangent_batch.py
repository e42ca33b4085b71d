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
from tests.runtime.recording.batches import field, pushed, recorded


@pytest.fixture(autouse=True)
def _fresh():
    ti.init(default_fp=ti.f64)


def test_a_jacobian():
    x, y = field(3, values=[1.0, 2.0, 3.0]), field(2)

    @ti.kernel
    def run():
        y[0] = x[0] * x[1]
        y[1] = ti.sin(x[2])

    (J,) = pushed(run, [x], [y], [np.eye(3)])
    np.testing.assert_allclose(J.T, [[2.0, 1.0, 0.0], [0.0, 0.0, np.cos(3.0)]])


def test_no_tangent_of_the_fields_changes():
    x, y = field(values=2.0), field()

    @ti.kernel
    def cube():
        y[None] = x[None] ** 3

    with ti.ad.FwdMode(loss=y, param=x):
        cube()
    (found,) = pushed(cube, [x], [y], [np.array([1.0, 10.0])])
    assert found.tolist() == [12.0, 120.0]
    assert (x.dual[None], y.dual[None]) == (0.0, 12.0)


def test_what_no_seed_reaches():
    x, y, z = field(values=2.0), field(), field(3)

    @ti.kernel
    def both():
        y[None] = x[None] ** 2
        z[0] = 5.0

    seeds = [np.array([1.0, 2.0])]
    of_y, of_z, of_x = pushed(both, [x], [y, z, x], seeds)
    assert of_y.tolist() == [4.0, 8.0]
    assert (of_z.shape, of_z.any()) == ((2, 3), False)
    assert of_x.tolist() == [1.0, 2.0]


def test_fewer_directions_than_lanes():
    x, y = field(values=2.0), field()

    @ti.kernel
    def cube():
        y[None] = x[None] ** 3

    (found,) = pushed(cube, [x], [y], [np.array([1.0, 2.0, 3.0])], width=4)
    assert found.tolist() == [12.0, 24.0, 36.0]


def test_entered_again():
    """Nothing is left of the directions before, and the same kernels serve again."""
    x, y, z = field(values=2.0), field(), field()

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

    recorder = recorded(run)
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

    found = pushed(run, [x], [y, x.grad, y.dual, x.grad.dual], [np.array([1.0, 10.0])])
    assert [f.tolist() for f in found] == [[32.0, 320.0], [48.0, 480.0], [48.0, 480.0], [48.0, 480.0]]


def test_a_gradient_as_param():
    x, y = ti.field(ti.f64, shape=3, needs_grad=True), field(3)

    @ti.kernel
    def descend():
        for i in x:
            y[i] = x[i] - 0.5 * x.grad[i] ** 2

    x.grad.from_numpy(np.array([1.0, 2.0, 3.0]))
    (found,) = pushed(descend, [x.grad], [y], [np.eye(3)])
    np.testing.assert_array_equal(found, -np.diag([1.0, 2.0, 3.0]))


def test_arrays():
    x, y = np.array([1.0, 2.0, 3.0]), field(3)

    @ti.kernel
    def squares(a: ti.types.ndarray(), factor: float):
        for i in y:
            y[i] = factor * a[i] ** 2

    made = ti.ndarray(ti.f64, shape=3)
    made.from_numpy(x)
    (found,) = pushed(lambda: squares(made, 3.0), [made], [y], [np.eye(3)])
    np.testing.assert_array_equal(found, np.diag(6 * x))


def test_prints_once(capsys):
    x, y = field(values=2.0), field()

    @ti.kernel
    def run():
        y[None] = x[None] ** 2
        print("here", y[None])

    recorder = recorded(run)
    capsys.readouterr()
    batch = TangentBatch([x], 4)
    with batch.along([np.ones(4)]):
        recorder.replay()
    assert capsys.readouterr().out == "here 4.0\n"


def test_faults_are_those_of_the_values():
    ti.init(default_fp=ti.f64, debug=True)
    x, y, at = field(3, values=[1.0, 2.0, 3.0]), field(3), ti.field(ti.i32, shape=())

    @ti.kernel
    def run():
        for i in x:
            y[i] = x[i + at[None]] ** 2

    recorder = recorded(run)
    at[None] = 1
    batch = TangentBatch([x], 4)
    with pytest.raises(ti.DsimError, match=r"`x`|x\["), batch.along([np.ones((4, 3))]):
        recorder.replay()
    with batch.along([np.ones((4, 3))]):
        pass  # it has ended, and may begin again


def test_random_numbers_are_shared():
    x, y = field(4, values=np.arange(4.0)), field(4)

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


def test_a_launch_of_another_thread():
    x, y = field(values=2.0), field()

    @ti.kernel
    def cube():
        y[None] = x[None] ** 3

    recorder = recorded(cube)
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
    x, y = field(values=2.0), field()

    @ti.kernel
    def cube():
        y[None] = x[None] ** 3

    launches = recorded(cube).launches

    def sizes(count):
        return [(part.start, part.stop, width) for part, width in chunks(count, launches)]

    assert sizes(0) == []
    assert sizes(1) == [(0, 1, 1)]
    assert sizes(3) == [(0, 3, 4)]
    assert sizes(9) == [(0, 4, 4), (4, 8, 4), (8, 9, 1)]
    assert sizes(6) == [(0, 4, 4), (4, 6, 2)]


@pytest.mark.parametrize(("limit", "value"), [("_MOST_BYTES", 40), ("_MOST_STATEMENTS", 11)])
def test_large_programs_take_fewer_at_once(monkeypatch, limit, value):
    x, y = field(values=2.0), field()

    @ti.kernel
    def cube():
        y[None] = x[None] ** 3

    launches = recorded(cube).launches
    monkeypatch.setattr(tangent_batch, limit, value)
    assert {width for _, width in chunks(8, launches)} == {2}
    monkeypatch.setattr(tangent_batch, limit, 0)
    assert [width for _, width in chunks(2, launches)] == [1, 1]
