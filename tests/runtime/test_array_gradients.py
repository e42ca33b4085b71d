"""Ndarrays and NumPy arrays inside tapes and forward mode: gradients, saved values, what is cut and said."""

import warnings

import numpy as np
import pytest

import dsim as ti
from tests.runtime.taping import taped


@pytest.fixture(autouse=True)
def _fresh():
    ti.init(default_fp=ti.f64)


@pytest.fixture
def loss():
    return ti.ndarray(ti.f64, (), needs_grad=True)


@pytest.fixture
def w():
    made = ti.ndarray(ti.f64, 3, needs_grad=True)
    made.from_numpy(np.array([1.0, 2.0, 3.0]))
    return made


@ti.kernel
def weigh(w: ti.types.ndarray(), c: ti.types.ndarray(), s: ti.types.ndarray()):
    for i in w:
        s[None] += c[i] * w[i] ** 2


@ti.kernel
def squares(a: ti.types.ndarray(), b: ti.types.ndarray()):
    for i in a:
        b[i] = a[i] * a[i]


@ti.kernel
def total(a: ti.types.ndarray(), s: ti.types.ndarray()):
    for i in a:
        s[None] += a[i]


@ti.kernel
def square_in_place(a: ti.types.ndarray()):
    for i in a:
        a[i] = a[i] * a[i]


# ------------------------------------------------------------------ ndarrays


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


# ------------------------------------------------------------------ NumPy arrays


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
    with ti.Tape(loss):
        total(x.array, loss)
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
