"""Parameters annotated ``ndarray(needs_grad=False)``: derivatives of both modes stop at them."""

import numpy as np
import pytest

import dsim as ti


@pytest.fixture(autouse=True)
def _fresh():
    ti.init(default_fp=ti.f64)


def given(*numbers):
    made = ti.ndarray(ti.f64, len(numbers), needs_grad=True)
    made.from_numpy(np.array(numbers))
    return made


@pytest.fixture
def loss():
    return ti.ndarray(ti.f64, (), needs_grad=True)


@ti.kernel
def weigh(w: ti.types.ndarray(), c: ti.types.ndarray(needs_grad=False), s: ti.types.ndarray()):
    for i in w:
        s[None] += c[i] * w[i] ** 2


def test_reads_carry_no_gradient(loss):
    w, c = given(1.0, 2.0), given(3.0, 4.0)
    with ti.Tape(loss):
        weigh(w, c, loss)
    assert w.grad.to_numpy().tolist() == [6.0, 16.0]
    with pytest.warns(ti.GradientWarning, match="is 0"):
        assert c.grad.to_numpy().tolist() == [0.0, 0.0]
    with ti.ad.FwdMode(loss=loss, param=[w, c], seed=[[1.0, 0.0], [1.0, 1.0]]):
        weigh(w, c, loss)
    assert loss.dual[None] == 6.0
    with ti.ad.FwdMode(param=c, seed=[1.0, 0.0]), ti.Tape(loss):
        weigh(w, c, loss)
    assert w.grad.dual.array.tolist() == [0.0, 0.0]
    loss.grad[None] = 10.0
    w.grad.fill(0.0)
    weigh.grad(w, c, loss)
    assert w.grad.to_numpy().tolist() == [60.0, 160.0]
    with pytest.warns(ti.GradientWarning, match="is 0"):
        assert c.grad.to_numpy().tolist() == [0.0, 0.0]


def test_what_is_written_carries_no_gradient(loss):
    @ti.kernel
    def write(w: ti.types.ndarray(), to: ti.types.ndarray(needs_grad=False)):
        for i in w:
            if i == 0:
                to[i] = w[i] * 3.0
            else:
                to[i] += w[i]

    @ti.kernel
    def total(a: ti.types.ndarray(), s: ti.types.ndarray()):
        for i in a:
            s[None] += a[i]

    w, to = given(1.0, 2.0), given(5.0, 7.0)
    with ti.Tape(loss):
        write(w, to)
        total(to, loss)
        total(w, loss)
    assert loss[None] == 3.0 + 9.0 + 3.0
    assert w.grad.to_numpy().tolist() == [1.0, 1.0]
    assert to.grad.to_numpy().tolist() == [0.0, 1.0]  # the first number was overwritten


def test_numpy_arrays_and_other_types(loss):
    w = given(1.0, 2.0)
    with ti.Tape(loss):
        weigh(w, np.array([3.0, 4.0]), loss)
        weigh(w, np.array([3, 4]), loss)
    assert w.grad.to_numpy().tolist() == [12.0, 32.0]


def test_old_values_of_atomics(loss):
    @ti.kernel
    def count(c: ti.types.ndarray(needs_grad=False), s: ti.types.ndarray()):
        for i in c:
            s[None] += ti.atomic_add(c[i], 1.0)

    c = given(1.0, 2.0)
    with ti.ad.FwdMode(loss=loss, param=c, seed=[1.0, 1.0]):
        count(c, loss)
    with pytest.warns(ti.GradientWarning, match="leave out `stop_grad`, `no_grad` or `needs_grad=False`"):
        assert loss.dual[None] == 0.0


def test_one_array_cannot_be_both(loss):
    w = given(1.0, 2.0)
    with pytest.raises(ti.LaunchTypeError, match=r"argument `c` of `weigh` .* is the same array as `w`"):
        weigh(w, w, loss)

    @ti.kernel
    def captured(c: ti.types.ndarray(needs_grad=False)):
        for i in c:
            c[i] = w[i]

    with pytest.raises(ti.LaunchTypeError, match=r"argument `c` of `captured` .* is the same array as `w`"):
        captured(w)


def test_functions_of_constant_arrays(loss):
    @ti.func
    def at(c: ti.types.ndarray(needs_grad=False), i):
        return c[i]

    @ti.kernel
    def fine(c: ti.types.ndarray(needs_grad=False), s: ti.types.ndarray()):
        s[None] += at(c, 1)

    @ti.kernel
    def wrong(c: ti.types.ndarray(), s: ti.types.ndarray()):
        s[None] += at(c, 1)

    c = given(1.0, 2.0)
    fine(c, loss)
    assert loss[None] == 2.0
    with pytest.raises(ti.CompilationError, match="with `needs_grad=False`, but `c` is declared without it"):
        wrong(c, loss)
