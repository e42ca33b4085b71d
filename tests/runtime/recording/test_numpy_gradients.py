"""NumPy arrays in tapes and forward mode: constants, arrays with gradients, and cut gradients.

Gradients of ndarrays are in ``test_ndarray_gradients.py``.
"""

import warnings

import numpy as np
import pytest

import dsim as ti
from tests.runtime.arrays import square_in_place, squares, total, weigh, weights
from tests.runtime.taping import taped


@pytest.fixture(autouse=True)
def _fresh():
    ti.init(default_fp=ti.f64)


@pytest.fixture
def loss():
    return ti.ndarray(ti.f64, (), needs_grad=True)


@pytest.fixture
def w():
    return weights()


def test_an_array_is_a_constant(w, loss):
    c = np.array([1.0, 10.0, 100.0])
    with ti.Tape(loss):
        weigh(w, c, loss)
    assert w.grad.to_numpy().tolist() == [2.0, 40.0, 600.0]


def test_an_array_that_python_changes_between_launches(w, loss):
    c = np.array([1.0, 10.0, 100.0])
    for _ in range(2):
        start = c.copy()
        with ti.Tape(loss):
            weigh(w, c, loss)
            c *= 2.0
            weigh(w, c, loss)
            c[1] = np.nan
        assert w.grad.to_numpy().tolist() == (2 * w.to_numpy() * 3 * start).tolist()
        c[...] = start * 3

    def changes():
        weigh(w, c, loss)
        c[0] += 1.0
        weigh(w, c, loss)

    with pytest.raises(ti.AccessRuleError, match="is overwritten from Python after `weigh` read it"):
        taped(loss, changes, on_overwrite="error")


def test_an_array_that_python_changes_after_the_last_launch(w, loss):
    c = np.array([1.0, 10.0, 100.0])
    with ti.Tape(loss):
        weigh(w, c, loss)
        c[...] = 0.0
    assert w.grad.to_numpy().tolist() == [2.0, 40.0, 600.0]
    assert c.tolist() == [0.0, 0.0, 0.0]


def test_fresh_arrays_in_a_loop(w, loss):
    with ti.Tape(loss):
        for k in range(5):
            weigh(w, np.full(3, float(k)), loss)
    assert w.grad.to_numpy().tolist() == [20.0, 40.0, 60.0]


def test_an_array_between_kernels_carries_gradients(w, loss):
    middle = np.zeros(3)
    with pytest.warns(ti.GradientWarning, match="`b` is a NumPy array: what Python makes of"):
        taped(loss, lambda: squares(w, middle), lambda: total(middle, loss))
    assert middle.tolist() == [1.0, 4.0, 9.0]
    assert w.grad.to_numpy().tolist() == [2.0, 4.0, 6.0]
    with ti.ad.FwdMode(loss=loss, param=w, seed=[1.0, 1.0, 0.0]):
        with pytest.warns(ti.GradientWarning, match="inside the forward mode has no tangent"):
            squares(w, middle)
        total(middle, loss)
    assert loss.dual[None] == 6.0


def test_what_python_makes_of_an_array_is_a_constant(w, loss):
    middle = np.zeros(3)

    def through_python():
        squares(w, middle)
        total(middle.copy(), loss)
        middle[...] += 0.5
        total(middle, loss)

    with pytest.warns(ti.GradientWarning, match="`b` is a NumPy array"):
        taped(loss, through_python)
    assert w.grad.to_numpy().tolist() == [0.0, 0.0, 0.0]


def test_nothing_is_said_of_constants(w, loss):
    with warnings.catch_warnings(), ti.Tape(loss):
        warnings.simplefilter("error")
        c, d = np.ones(3), np.zeros(3)
        squares(c, d)
        weigh(w, d, loss)
    assert d.tolist() == [1.0, 1.0, 1.0]
    assert w.grad.to_numpy().tolist() == [2.0, 4.0, 6.0]


def test_a_numpy_array_has_no_gradient(w, loss):
    with pytest.raises(ti.GradientError, match="the loss must be a field, not a NumPy array"):
        ti.Tape(np.zeros(()))
    with pytest.raises(ti.GradientError, match="or a list of fields, not a NumPy array"):
        ti.ad.FwdMode(loss=loss, param=[w, np.zeros(3)])
    with pytest.raises(TypeError, match=r"copy_from\(\) takes a field, not a NumPy array"):
        w.copy_from(np.zeros(3))


def test_strided_arrays_inside_a_tape(w, loss):
    whole = np.arange(6.0)
    with ti.Tape(loss):
        weigh(w, whole[::2], loss)
        square_in_place(whole[::2])
        weigh(w, whole[::2], loss)
    assert whole.tolist() == [0.0, 1.0, 4.0, 3.0, 16.0, 5.0]
    assert w.grad.to_numpy().tolist() == [0.0, 2 * 2 * 6.0, 2 * 3 * 20.0]


def test_wrong_arrays_inside_a_tape(w, loss):
    whole = np.arange(4.0)
    with pytest.raises(TypeError, match="overlap"), ti.Tape(loss):
        squares(whole[:3], whole[1:])
    whole.flags.writeable = False
    with pytest.raises(TypeError, match="read-only"), ti.Tape(loss):
        square_in_place(whole)


def test_a_kernel_that_counts_in_an_array(loss):
    x = ti.field(ti.f64, shape=(), needs_grad=True)
    x[None] = 0.5

    @ti.kernel
    def steps(log: ti.types.ndarray(), s: ti.types.ndarray()):
        for _ in range(1):
            y = x[None]
            while y < 3.0:
                y = y * 2.0
                log[0] += 1
            s[None] += y

    log = np.zeros(1, np.int64)
    with ti.Tape(loss):
        steps(log, loss)
    assert (log[0], loss[None], x.grad[None]) == (3, 4.0, 8.0)


def test_the_view_of_a_field_inside_a_tape(loss):
    x = ti.field(ti.f64, shape=3, needs_grad=True, name="x")
    x.from_numpy(np.array([1.0, 2.0, 3.0]))
    view = x.array
    with ti.Tape(loss):
        total(view, loss)
    assert x.grad.to_numpy().tolist() == [1.0, 1.0, 1.0]
    with pytest.warns(ti.GradientWarning, match="`x` is read into Python"):
        taped(loss, lambda: weigh(x, x, loss), lambda: total(x.array[1:], loss))
    assert loss[None] == 36.0 + 5.0
    assert x.grad.to_numpy().tolist() == [3.0, 12.0, 27.0]


def test_a_tape_inside_forward_mode_with_arrays(w, loss):
    c = np.array([1.0, 10.0, 100.0])
    with ti.ad.FwdMode(loss=loss, param=w, seed=[1.0, 0.0, 0.0]):
        with ti.Tape(loss):
            weigh(w, c, loss)
            c *= 2
            weigh(w, c, loss)
        c *= 10
    assert w.grad.dual.to_numpy().tolist() == [6.0, 0.0, 0.0]


def test_no_gradients_of_an_earlier_context(w, loss):
    middle = np.zeros(3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(3):
            with ti.ad.FwdMode(loss=loss, param=w, seed=[1.0, 0.0, 0.0]):
                squares(w, middle)
            with ti.ad.FwdMode(loss=loss, param=w, seed=[1.0, 0.0, 0.0], clear_gradients=False):
                loss[None] = 0.0
                total(np.ones(3), loss)
            assert loss.dual[None] == 0.0


def test_no_grad(w, loss):
    @ti.ad.no_grad
    def outside(c):
        weigh(w, c, loss)

    with ti.Tape(loss):
        weigh(w, np.ones(3), loss)
        outside(np.ones(3))
    assert loss[None] == 28.0
    assert w.grad.to_numpy().tolist() == [2.0, 4.0, 6.0]


def test_gradients_of_ones_own(w, loss):
    c = np.ones(3)

    @ti.ad.grad_replaced
    def ahead(c):
        weigh(w, c, loss)

    @ti.ad.grad_for(ahead)
    def back(c):
        weigh.grad(w, 3 * c, loss)

    with ti.Tape(loss):
        ahead(c)
        weigh(w, c, loss)
    assert w.grad.to_numpy().tolist() == [8.0, 16.0, 24.0]
