"""Fields as PyTorch tensors and back, with a stand-in for the functions used."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest

import dsim as ti
from tests.runtime.tensors import Device, Tensor


@pytest.fixture
def torch(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(from_numpy=Tensor))


@pytest.fixture(autouse=True)
def _fresh():
    ti.init()


@pytest.mark.usefixtures("torch")
@pytest.mark.parametrize("dtype", [ti.f32, ti.f64, ti.i32, ti.i64, ti.u8])
def test_there_and_back(dtype):
    x, y = ti.field(dtype, shape=(2, 3)), ti.field(dtype, shape=(2, 3))
    x.from_numpy(np.arange(6).reshape(2, 3))
    tensor = x.to_torch()
    assert (tensor.device, tensor.array.dtype) == ("cpu", dtype.numpy)
    y.from_torch(tensor)
    np.testing.assert_array_equal(y.to_numpy(), np.arange(6).reshape(2, 3))


@pytest.mark.usefixtures("torch")
def test_the_tensor_is_a_copy():
    x = ti.field(ti.f32, shape=2)
    tensor = x.to_torch()
    tensor.array[0] = 5.0
    assert x[0] == 0.0


@pytest.mark.usefixtures("torch")
def test_devices_and_tensors_with_a_history():
    x = ti.ndarray(ti.f32, shape=2)
    x.from_torch(Tensor(np.array([1.0, 2.0], np.float32), "cuda:0", requires_grad=True))
    assert x.to_numpy().tolist() == [1.0, 2.0]
    assert x.to_torch(device="cuda:0").device == "cuda:0"


@pytest.mark.usefixtures("torch")
def test_vectors_matrices_and_numbers_alone():
    v, m, s = (
        ti.Vector.field(2, ti.f32, shape=3),
        ti.Matrix.field(2, 2, ti.f32, shape=3),
        ti.field(ti.f32, ()),
    )
    assert v.to_torch().array.shape == (3, 2)
    assert v.to_torch(keep_dims=True).array.shape == (3, 2, 1)
    assert m.to_torch().array.shape == (3, 2, 2)
    s.from_torch(Tensor(np.array(3.0)))
    assert s.to_torch().array == s[None] == 3.0


@pytest.mark.usefixtures("torch")
def test_struct_fields():
    s = ti.Struct.field({"a": ti.f32, "b": ti.types.struct(v=ti.math.vec2)}, shape=2)
    s.from_torch({"a": Tensor(np.ones(2)), "b": {"v": Tensor(np.full((2, 2), 2.0))}})
    found = s.to_torch()
    assert found["a"].array.tolist() == [1.0, 1.0]
    assert found["b"]["v"].array.tolist() == [[2.0, 2.0], [2.0, 2.0]]
    with pytest.raises(TypeError, match=r"from_torch\(\) of the struct field needs the members `a`, `b`"):
        s.from_torch({"a": Tensor(np.ones(2))})


@pytest.mark.usefixtures("torch")
def test_in_a_tape_numbers_from_tensors_are_constants():
    x, y = ti.field(ti.f32, shape=2, needs_grad=True), ti.field(ti.f32, shape=(), needs_grad=True)

    @ti.kernel
    def run():
        for i in x:
            y[None] += x[i] ** 2

    x.fill(1.0)
    with ti.ad.Tape(y):
        run()
        x.from_torch(Tensor(np.array([3.0, 4.0], np.float32)))
        run()
    assert (y[None], x.grad.to_numpy().tolist()) == (27.0, [2.0, 2.0])


def test_without_pytorch(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(RuntimeError) as error:
        ti.field(ti.f32, shape=2).to_torch()
    assert "to_torch() needs PyTorch, which is not installed" in str(error.value)
    assert "ti.field(ti.f32, shape=2).to_torch()" in str(error.value)
    assert "help: `pip install torch`, or `to_numpy()`" in str(error.value)


def test_what_is_no_tensor():
    x = ti.field(ti.f32, shape=2, name="x")
    with pytest.raises(TypeError) as error:
        x.from_torch(np.zeros(2))
    assert "from_torch() takes a PyTorch tensor, not ndarray" in str(error.value)
    assert "help: `from_numpy()` takes arrays" in str(error.value)
    with pytest.raises(TypeError, match=r"`x` takes an array of shape \(2,\), got \(3,\)"):
        x.from_torch(Tensor(np.zeros(3)))


# ------------------------------------------------------------------ kernel.grad() on tensors


@ti.kernel
def squares(x: ti.types.ndarray(), y: ti.types.ndarray()):
    for i in x:
        y[i] = x[i] ** 2


def _leaf(*numbers):
    return Tensor(np.array(numbers), requires_grad=True)


@pytest.mark.usefixtures("torch")
def test_tensors_keep_their_gradients():
    x, y = _leaf(1.0, 2.0, 3.0), _leaf(0.0, 0.0, 0.0)
    squares(x, y)
    assert y.array.tolist() == [1.0, 4.0, 9.0]
    y.grad = Tensor(np.array([1.0, 0.0, 2.0]))
    squares.grad(x, y)
    assert x.grad.array.tolist() == [2.0, 0.0, 12.0]
    assert y.grad.array.tolist() == [0.0, 0.0, 0.0]  # used up
    kept = x.grad
    y.grad = Tensor(np.array([1.0, 1.0, 0.0]))
    squares.grad(x=x, y=y)
    assert x.grad is kept
    assert kept.array.tolist() == [4.0, 4.0, 12.0]
    assert x.array.tolist() == [1.0, 2.0, 3.0]


@pytest.mark.usefixtures("torch")
def test_gradients_of_tensors_of_vectors_beside_fields():
    v, total = _leaf([1.0, 2.0], [3.0, 4.0]), ti.field(ti.f64, shape=(), needs_grad=True)

    @ti.kernel
    def run(v: ti.types.ndarray(dtype=ti.types.vector(2, ti.f64), ndim=1), scale: float):
        for i in v:
            total[None] += scale * v[i].norm_sqr()

    total.grad[None] = 1.0
    run.grad(v, 0.5)
    assert v.grad.array.tolist() == [[1.0, 2.0], [3.0, 4.0]]


@pytest.mark.usefixtures("torch")
def test_one_tensor_for_two_parameters():
    x, total = _leaf(2.0), ti.field(ti.f64, shape=(), needs_grad=True)

    @ti.kernel
    def run(a: ti.types.ndarray(), b: ti.types.ndarray()):
        for i in a:
            total[None] += a[i] * b[i]

    total.grad[None] = 1.0
    run.grad(x, x)
    assert x.grad.array.tolist() == [4.0]


def test_tensors_whose_gradients_cannot_be_given():
    x, y = _leaf(1.0), _leaf(1.0)
    y.device = Device("cuda:0")
    with pytest.raises(TypeError, match="got a tensor on the device cuda:0"):
        squares.grad(x, y)
    with (
        pytest.raises(TypeError, match="requires a gradient, which a tape does not set"),
        ti.ad.Tape(_loss()),
    ):
        squares(x, x)

    @ti.kernel
    def run(v: ti.types.ndarray(dtype=ti.types.vector(2, ti.f64))):
        for i in v:
            v[i] *= 2.0

    with pytest.raises(TypeError, match="argument `v` of `run` is an array of vectors of 2 f64"):
        run.grad(x)


def _loss():
    return ti.field(ti.f64, shape=(), needs_grad=True)
