"""The number of compilations of a kernel for its array arguments, its cache, and its compiled forms."""

import gc
import weakref

import numpy as np
import pytest

import dsim as ti
from tests.runtime.arrays import scale, start


@pytest.fixture(autouse=True, params=["cpu", "reference"])
def _fresh(request):
    start(request.param)


def compilations(kernel):
    return len(kernel._arrays.known)


# ------------------------------------------------------------------ compilations


def test_one_compilation_for_each_type_and_shape():
    @ti.kernel
    def fill(a: ti.types.ndarray(), b: ti.types.ndarray()):
        for i in a:
            a[i] = b[i]

    for _ in range(3):
        fill(ti.ndarray(ti.f64, 3), ti.ndarray(ti.f64, 3))
        fill(np.zeros(3), np.zeros(3))
    assert compilations(fill) == 2  # a field's key tells a gradient's place, too
    fill(np.zeros(4), np.zeros(4))
    fill(np.zeros(3, np.float32), np.zeros(3))
    assert compilations(fill) == 4


def test_shapes_without_end(monkeypatch):
    from dsim.runtime.kernels import arrays

    monkeypatch.setattr(arrays, "MOST", 3)

    @ti.kernel
    def fill(a: ti.types.ndarray()):
        for i in a:
            a[i] = 1.0

    for n in range(1, 4):
        fill(np.zeros(n))
    with pytest.warns(ti.DsimWarning, match="`fill` has been compiled for 3 combinations of shapes"):
        fill(np.zeros(4))
    for n in range(1, 8):
        given = np.zeros(n)
        fill(given)
        assert given.all()
    assert compilations(fill) == 3


def test_arrays_that_nobody_has_any_more_are_gone():
    loss = ti.ndarray(ti.f64, (), needs_grad=True)
    rate = ti.field(ti.f64, shape=2)
    rate.fill(2.0)

    @ti.kernel
    def square(a: ti.types.ndarray(), b: ti.types.ndarray(), s: ti.types.ndarray()):
        for i in a:
            s[None] += rate[i] * a[i] * b[i]

    def step():
        a, b = ti.ndarray(ti.f64, 2, needs_grad=True), np.ones(2)
        a.fill(1.0)
        with ti.Tape(loss):
            a[0] = 2.0
            square(a, b, loss)
            a.copy_from(rate)
            square(a, b, loss)
        with ti.ad.FwdMode(loss=loss, param=a, seed=[1.0, 0.0]):
            square(a, b, loss)
        assert a.grad.to_numpy().tolist() == [0.0, 2.0]
        square(a, b, loss)
        return weakref.ref(a), weakref.ref(b)

    gone = [step() for _ in range(4)]
    for _ in range(3):
        step()
    gc.collect()
    assert all(ref() is None for refs in gone for ref in refs)


def test_one_without_gradient_goes_at_once():
    a = ti.ndarray(ti.f64, 2)
    scale(a, 2.0)
    gone = weakref.ref(a)
    gc.disable()
    try:
        del a
        assert gone() is None
    finally:
        gc.enable()


def test_a_new_array_of_a_known_shape_compiles_nothing(monkeypatch):
    from dsim.runtime.driver import pipeline

    loss, start = ti.ndarray(ti.f64, (), needs_grad=True), ti.field(ti.f64, shape=2, needs_grad=True)

    @ti.kernel
    def square(a: ti.types.ndarray(), b: ti.types.ndarray(), s: ti.types.ndarray()):
        for i in a:
            s[None] += a[i] * a[i] * b[i]

    def step():
        a = ti.ndarray(ti.f64, 2, needs_grad=True)
        with ti.Tape(loss):
            a[0] = 2.0
            square(a, np.ones(2), loss)
            a.fill(3.0)
            square(a, np.ones(2), loss)
            a.copy_from(start)
            square(a, np.ones(2), loss)
        with ti.ad.FwdMode(loss=loss, param=a, seed=[1.0, 0.0]):
            square(a, np.ones(2), loss)
            a[0] = 2.0
        a.grad.fill(0.0)
        square.grad(a, np.ones(2), loss)

    step()
    made = []
    for name in ("machine", "derived", "prepared"):
        real = getattr(pipeline, name)
        monkeypatch.setattr(pipeline, name, lambda *args, real=real: made.append(args) or real(*args))
    step()
    assert made == []


# ------------------------------------------------------------------ the forms of a kernel


def test_forms_of_a_kernel_that_takes_arrays():
    @ti.kernel
    def square(a: ti.types.ndarray(), b: ti.types.ndarray()):
        for i in a:
            b[i] = a[i] * a[i]

    with pytest.raises(TypeError, match=r"choose one: `square\.of\(a, b\)\.adjoint`"):
        square.adjoint  # noqa: B018
    a, b = (ti.ndarray(ti.f64, 3, needs_grad=True) for _ in range(2))
    assert "a_bar" in square.of(a, b).adjoint.python
    square(np.zeros(3), np.zeros(3))
    with pytest.raises(TypeError, match="choose one"):
        square.primal  # noqa: B018
    with pytest.raises(TypeError, match="takes a field or an ndarray as `a`"):
        square.of(np.zeros(3), b)

    @ti.kernel
    def twice(a: ti.types.ndarray()):
        for i in a:
            a[i] = 2 * a[i]

    twice(np.zeros(3))
    assert "parallel for" in twice.primal.ir
    assert "a_bar" in twice.adjoint.python


def test_check_without_running():
    @ti.kernel
    def sine(a: ti.types.ndarray()):
        for i in a:
            a[i] = ti.sin(a[i])

    a = ti.ndarray(ti.f64, 3, needs_grad=True)
    assert [f.code for f in sine.check(a)] == ["overwrites"]
