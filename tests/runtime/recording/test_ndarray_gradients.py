"""Ndarrays inside tapes and forward mode: gradients, saved values, and the rule of access.

Gradients with NumPy arrays as arguments are in ``test_numpy_gradients.py``.
"""

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


def test_a_tape(w, loss):
    c = ti.ndarray(ti.f64, 3)
    c.fill(10.0)
    with ti.Tape(loss):
        weigh(w, c, loss)
    assert loss[None] == 140.0
    assert w.grad.to_numpy().tolist() == [20.0, 40.0, 60.0]


def test_several_arrays_through_one_kernel(w, loss):
    middle = [ti.ndarray(ti.f64, 3) for _ in range(3)]
    with ti.Tape(loss):
        squares(w, middle[0])
        squares(middle[0], middle[1])
        squares(w, middle[2])
        total(middle[1], loss)
        total(middle[2], loss)
    x = w.to_numpy()
    np.testing.assert_allclose(w.grad.to_numpy(), 4 * x**3 + 2 * x)


def test_state_in_place(w, loss):
    with ti.Tape(loss) as tape:
        square_in_place(w)
        square_in_place(w)
        total(w, loss)
    np.testing.assert_allclose(w.grad.to_numpy(), 4 * np.array([1.0, 2.0, 3.0]) ** 3)
    assert w.to_numpy().tolist() == [1.0, 16.0, 81.0]
    assert tape.saved_bytes == 48


def test_one_array_for_two_parameters(w, loss):
    with ti.Tape(loss):
        squares(w, w)
        squares(w, w)
        total(w, loss)
    np.testing.assert_allclose(w.grad.to_numpy(), 4 * np.array([1.0, 2.0, 3.0]) ** 3)


def test_overwritten_by_a_later_launch_or_from_python(w, loss):
    other = ti.ndarray(ti.f64, 3)
    with ti.Tape(loss):
        weigh(w, w, loss)  # w³
        w[0] = 5.0
        weigh(w, w, loss)
        w.from_numpy(np.full(3, 7.0))
        w.copy_from(other)
        w.fill(1.0)
    assert w.grad.to_numpy().tolist() == [3.0, 24.0, 54.0]


def test_an_array_copied_to_itself(w, loss):
    with ti.Tape(loss):
        w.copy_from(w)
        weigh(w, w, loss)
    assert w.grad.to_numpy().tolist() == [3.0, 12.0, 27.0]
    with ti.ad.FwdMode(loss=loss, param=w, seed=[1.0, 0.0, 0.0]):
        w.copy_from(w)
    assert w.dual.to_numpy().tolist() == [1.0, 0.0, 0.0]


def test_the_rule_of_access(w, loss):
    other = ti.ndarray(ti.f64, 3)

    def overwrites():
        weigh(w, w, loss)
        total(w, loss)
        squares(other, w)

    with pytest.raises(ti.AccessRuleError) as refused:
        taped(loss, overwrites, on_overwrite="error")
    text = str(refused.value)
    assert "is overwritten by `squares` after `weigh` read it" in text
    assert "b[i] = a[i] * a[i]" in text
    assert "s[None] += c[i] * w[i] ** 2" in text

    def writes():
        weigh(w, w, loss)
        w[1] = 0.0

    with pytest.raises(ti.AccessRuleError, match="is overwritten from Python after `weigh` read it"):
        taped(loss, writes, validation=True)
    with pytest.raises(ti.AccessRuleError, match="is overwritten after it was read"):
        taped(loss, lambda: square_in_place(w), validation=True)


def test_integers(w, loss):
    @ti.kernel
    def chosen(w: ti.types.ndarray(), at: ti.types.ndarray(), s: ti.types.ndarray()):
        for i in at:
            s[None] += w[at[i]] ** 2

    at = ti.ndarray(ti.i32, 2)
    at[1] = 2
    with ti.Tape(loss):
        chosen(w, at, loss)
        at.fill(1)
        chosen(w, at, loss)
    assert w.grad.to_numpy().tolist() == [2.0, 8.0, 6.0]


def test_carried_values(w, loss):
    @ti.kernel
    def iterate(w: ti.types.ndarray(), n: int, s: ti.types.ndarray()):
        for i in w:
            x = w[i]
            for _ in range(n):
                x = x - 0.1 * x * x
            s[None] += x

    with ti.Tape(loss):
        iterate(w, 4, loss)

    def by_hand(x):
        for _ in range(4):
            x = x - 0.1 * x * x
        return x

    x, h = np.array([1.0, 2.0, 3.0]), 1e-6
    np.testing.assert_allclose(w.grad.to_numpy(), (by_hand(x + h) - by_hand(x - h)) / (2 * h), rtol=1e-8)


def test_vectors(loss):
    v = ti.Vector.ndarray(2, ti.f64, 3, needs_grad=True)
    v.from_numpy(np.arange(6.0).reshape(3, 2))

    @ti.kernel
    def lengths(v: ti.types.ndarray(dtype=ti.types.vector(2, ti.f64)), s: ti.types.ndarray()):
        for i in v:
            s[None] += v[i].norm_sqr()

    with ti.Tape(loss):
        lengths(v, loss)
    assert (v.grad.to_numpy() == 2 * v.to_numpy()).all()


def test_by_hand(w, loss):
    weigh(w, w, loss)
    loss.grad[None] = 1.0
    weigh.grad(w, w, loss)
    assert w.grad.to_numpy().tolist() == [3.0, 12.0, 27.0]
    w.grad.fill(0.0)
    weigh.grad(w, np.ones(3), loss)
    assert w.grad.to_numpy().tolist() == [2.0, 4.0, 6.0]
    with pytest.raises(ti.GradientError, match="a NumPy array has no gradient: pass an `ndarray`"):
        squares.grad(w, np.zeros(3))
    with pytest.raises(ti.GradientError, match="no field of `squares` has a gradient"):
        squares.grad(np.zeros(3), np.zeros(3))


def test_by_hand_with_a_field_that_the_kernel_knows(w):
    x = ti.field(ti.f64, shape=3, needs_grad=True)
    x.from_numpy(np.array([1.0, 2.0, 3.0]))

    @ti.kernel
    def mixed(a: ti.types.ndarray(), out: ti.types.ndarray()):
        for i in a:
            out[None] += a[i] * x[i] ** 2

    out = ti.ndarray(ti.f64, (), needs_grad=True)
    out.grad[None] = 1.0
    mixed(x, out)
    mixed.grad(x, out)
    assert x.grad.to_numpy().tolist() == [3.0, 12.0, 27.0]
    with ti.Tape(out):
        mixed(x, out)
        mixed(w, out)
    assert x.grad.to_numpy().tolist() == [5.0, 20.0, 45.0]


def test_an_ndarray_has_the_name_of_the_first_parameter_that_it_was_passed_to(w, loss):
    with ti.Tape(loss) as tape:
        square_in_place(w)
        total(w, loss)
    assert [row.field for row in tape.saved] == ["a"]


def test_forward_mode(w, loss):
    with ti.ad.FwdMode(loss=loss, param=w, seed=[0.0, 1.0, 0.0]):
        loss[None] = 0.0
        weigh(w, np.ones(3), loss)
    assert loss.dual[None] == 4.0


def test_second_derivatives(w, loss):
    with ti.ad.FwdMode(loss=loss, param=w, seed=[0.0, 1.0, 0.0]), ti.Tape(loss):
        weigh(w, w, loss)
    assert w.grad.to_numpy().tolist() == [3.0, 12.0, 27.0]
    assert w.grad.dual.to_numpy().tolist() == [0.0, 12.0, 0.0]
