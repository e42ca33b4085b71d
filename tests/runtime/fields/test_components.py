"""Components of fields of vectors and matrices: fields of numbers over the same memory."""

import numpy as np
import pytest

import dsim as ti


@pytest.fixture(autouse=True)
def _fresh():
    ti.init(default_fp=ti.f64)


def test_from_python():
    v, m = ti.Vector.field(2, ti.f32, shape=3), ti.Matrix.field(2, 2, ti.f32, shape=(2, 1))
    v[1] = [1.0, 2.0]
    second = v.get_scalar_field(1)
    assert (second[1], second.shape, second.dtype) == (2.0, (3,), ti.f32)
    second[2] = 7.0
    assert v[2].to_list() == [0.0, 7.0]
    assert second.to_numpy().tolist() == np.asarray(second).tolist() == [0.0, 2.0, 7.0]
    second.from_numpy(np.arange(3))
    second.parent().place(first := ti.field(ti.f32))
    first.copy_from(ti.field(ti.f32, shape=3))
    v.get_scalar_field(0).copy_from(first)
    assert v.to_numpy().tolist() == [[0.0, 0.0], [0.0, 1.0], [0.0, 2.0]]
    m.get_scalar_field(1, 0).fill(4.0)
    assert m[1, 0].to_list() == [[0.0, 0.0], [4.0, 0.0]]


def test_in_kernels():
    v, total = ti.Vector.field(2, ti.f64, shape=3), ti.field(ti.f64, shape=())
    second = v.get_scalar_field(1)

    @ti.kernel
    def run(part: ti.template()):
        for i in second:
            second[i] = i + 1.0
            part[i] += 10.0
        for i in range(3):
            total[None] += second[i] * part[i]
        second.fill(2.0)

    run(v.get_scalar_field(0))
    assert total[None] == 60.0
    assert v.to_numpy().tolist() == [[10.0, 2.0]] * 3


def test_the_same_component_is_one_compile_time_value():
    v = ti.Vector.field(2, ti.f64, shape=3)
    assert v.get_scalar_field(1) is v.get_scalar_field(1)


def test_gradients():
    v, y = ti.Vector.field(2, ti.f64, shape=3, needs_grad=True), ti.field(ti.f64, shape=(), needs_grad=True)
    a, b = v.get_scalar_field(0), v.get_scalar_field(1)

    @ti.kernel
    def run():
        for i in a:
            y[None] += a[i] ** 2 * b[i]

    v.fill([3.0, 2.0])
    with ti.ad.Tape(y):
        b.fill(5.0)
        run()
        a[0] = 1.0
    assert a.grad.to_numpy().tolist() == [30.0] * 3
    assert b.grad.to_numpy().tolist() == [0.0] * 3  # overwritten before it was read
    with ti.ad.FwdMode(loss=[y, v], param=v, seed=np.eye(3, 2)):
        run()
    assert y.dual[None] == 2 * 1.0 * 5.0 + 3.0**2
    assert v.get_scalar_field(1).dual.to_numpy().tolist() == [0.0, 1.0, 0.0]


def test_gradients_in_kernels():
    v = ti.Vector.field(2, ti.f64, shape=2, needs_grad=True)
    second = v.get_scalar_field(1)

    @ti.kernel
    def run():
        for i in second:
            second.grad[i] = 1.0

    run()
    assert v.grad.to_numpy().tolist() == [[0.0, 1.0], [0.0, 1.0]]


def test_each_component_has_its_place():
    v = ti.Vector.field(2, ti.f64, needs_grad=True)
    ti.root.dense(ti.i, 3).place(v.get_scalar_field(0))
    ti.root.dense(ti.i, 3).place(v.get_scalar_field(1))
    v[1] = [1.0, 2.0]
    assert v.shape == v.grad.shape == (3,)
    with pytest.raises(RuntimeError, match="has been placed already"):
        ti.root.dense(ti.i, 3).place(v.get_scalar_field(1))


def test_components_of_two_shapes():
    v = ti.Vector.field(2, ti.f64, name="v")
    ti.root.dense(ti.i, 3).place(v.get_scalar_field(0))
    with pytest.raises(TypeError) as error:
        ti.root.dense(ti.i, 4).place(v.get_scalar_field(1))
    assert "component 1 of `v` is placed with shape (4,), its field with shape (3,)" in str(error.value)
    assert "help: place all components with one shape" in str(error.value)


def test_wrong_use():
    v, x = ti.Vector.field(2, ti.i32, shape=3, name="v"), ti.field(ti.f64, shape=3, name="x")
    with pytest.raises(TypeError, match=r"`v` has entries of shape \(2,\), and so no component 2"):
        v.get_scalar_field(2)
    with pytest.raises(TypeError, match=r"`x` has entries of shape \(\), and so no component 0"):
        x.get_scalar_field(0)
    with pytest.raises(TypeError, match=r"component 1 of `v` takes an array of shape \(3,\), got \(2,\)"):
        v.get_scalar_field(1).from_numpy(np.zeros(2))
    with pytest.raises(TypeError, match="component 1 of `v` holds i32"):
        v.get_scalar_field(1).fill(0.5)
    with pytest.raises(IndexError, match="index 3 is outside `v`"):
        v.get_scalar_field(1)[3] = 1
    with pytest.raises(TypeError, match="got a component of a field\n"):
        _takes_an_array(v.get_scalar_field(1))


@ti.kernel
def _takes_an_array(a: ti.types.ndarray()):
    for i in a:
        a[i] = 1
