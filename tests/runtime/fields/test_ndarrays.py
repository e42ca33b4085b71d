"""Ndarrays: from Python, as arguments of kernels and funcs, and with aliases.

What is refused is in ``test_array_refusals.py``, compilations in ``test_array_compilations.py``.
"""

import copy

import numpy as np
import pytest

import dsim as ti
from tests.runtime.arrays import scale, start


@pytest.fixture(autouse=True, params=["cpu", "reference"])
def _fresh(request):
    start(request.param)


# ------------------------------------------------------------------ from Python


def test_what_python_does_to_one():
    a = ti.ndarray(ti.f32, shape=(2, 3))
    assert (a.shape, a.dtype, a.element_shape) == ((2, 3), ti.f32, ())
    assert (a.to_numpy() == 0).all()
    a.fill(2.0)
    a[0, 1] = 5
    assert a[0, 1] == 5.0
    assert a[1, 2] == 2.0
    b = ti.ndarray(ti.f32, (2, 3))
    b.from_numpy(np.arange(6.0).reshape(2, 3))
    a.copy_from(b)
    assert a.to_numpy().tolist() == [[0, 1, 2], [3, 4, 5]]
    assert repr(a) == "<ndarray: f32, shape (2, 3)>"
    with pytest.raises(ti.BoundsError, match=r"index \(2, 0\) is outside"):
        a[2, 0]
    with pytest.raises(TypeError, match="cannot take the numbers"):
        a.copy_from(ti.ndarray(ti.f32, 4))


def test_elements_that_are_vectors_and_matrices():
    v = ti.Vector.ndarray(3, ti.f64, shape=2)
    v[1] = [1.0, 2.0, 3.0]
    v[1][0] = 7.0
    assert v.to_numpy().tolist() == [[0, 0, 0], [7, 2, 3]]
    m = ti.Matrix.ndarray(2, 2, ti.i32, (3,))
    m[2] = [[1, 2], [3, 4]]
    assert (m.element_shape, m.to_numpy().shape, m[2][1, 0]) == ((2, 2), (3, 2, 2), 3)
    assert ti.ndarray(ti.types.vector(3, ti.f64), 4).element_shape == (3,)
    assert ti.ndarray(ti.math.vec2, 4, needs_grad=True).grad.element_shape == (2,)
    assert ti.types.matrix(2, 3, ti.f32).ndarray(4).to_numpy().shape == (4, 2, 3)


def test_copies():
    a = ti.ndarray(ti.f64, 2, needs_grad=True)
    a.fill(1.0)
    a.grad.fill(3.0)
    same, other = copy.copy(a), copy.deepcopy(a)
    a.fill(2.0)
    assert same[0] == 2.0
    assert other[0] == 1.0
    assert other.grad[1] == 3.0


def test_one_that_cannot_be():
    with pytest.raises(TypeError, match="has no derivatives"):
        ti.ndarray(ti.i32, 3, needs_grad=True)
    with pytest.raises(ValueError, match="at least one element"):
        ti.ndarray(ti.f32, (3, 0))
    with pytest.raises(TypeError, match="is not a type of numbers"):
        ti.ndarray("f32", 3)
    with pytest.raises(ti.GradientError, match="has no gradient"):
        ti.ndarray(ti.f32, 3).grad[0]


# ------------------------------------------------------------------ as arguments


def test_an_array_for_a_parameter():
    a = ti.ndarray(ti.f64, 3)
    a.fill(2.0)
    scale(a, 3.0)
    assert a.to_numpy().tolist() == [6.0] * 3
    scale(factor=0.5, a=a)
    assert a.to_numpy().tolist() == [3.0] * 3


def test_a_field_may_be_passed_too():
    x = ti.field(ti.f64, shape=(2, 2))
    x.fill(1.0)
    scale(x, 2.0)
    assert (x.to_numpy() == 2.0).all()


def test_all_types_of_numbers():
    @ti.kernel
    def add_one(a: ti.types.ndarray()):
        for i in a:
            a[i] += 1

    for t in (ti.f16, ti.f32, ti.f64, ti.i8, ti.i16, ti.i32, ti.i64, ti.u8, ti.u16, ti.u32, ti.u64):
        a = ti.ndarray(t, 3)
        add_one(a)
        assert a.to_numpy().tolist() == [1, 1, 1]
        given = np.arange(3).astype(t.numpy)
        add_one(given)
        assert given.tolist() == [1, 2, 3]


def test_shapes_ranges_and_several_arrays():
    @ti.kernel
    def transpose(a: ti.types.ndarray(dtype=float, ndim=2), b: ti.types.ndarray(ti.f64, 2)) -> int:
        for i, j in ti.ndrange(a.shape[0], a.shape[1]):
            b[j, i] = a[i, j]
        return a.shape[0] * 10 + b.shape[0]

    a, b = np.arange(6.0).reshape(2, 3), ti.ndarray(ti.f64, (3, 2))
    assert transpose(a, b) == 23
    assert (b.to_numpy() == a.T).all()


def test_vectors_and_matrices_in_kernels():
    @ti.kernel
    def turn(
        m: ti.types.ndarray(dtype=ti.math.mat2),
        v: ti.types.ndarray(dtype=ti.types.vector(2, float), ndim=1),
        out: ti.types.ndarray(element_dim=1),
    ):
        for i in v:
            out[i] = m[i] @ v[i]
            out[i].x += 1.0

    ti.init(default_fp=ti.f32)
    m = ti.Matrix.ndarray(2, 2, ti.f32, 3)
    m.fill(1.0)
    v = np.arange(6, dtype=np.float32).reshape(3, 2)
    out = ti.Vector.ndarray(2, ti.f32, 3)
    turn(m, v, out)
    assert out.to_numpy().tolist() == [[2, 1], [6, 5], [10, 9]]
    given = np.zeros((3, 2), np.float32)
    turn(np.ones((3, 2, 2), np.float32), v, given)
    assert given.tolist() == [[2, 1], [6, 5], [10, 9]]


def test_sums_and_atomics():
    @ti.kernel
    def measure(a: ti.types.ndarray(), total: ti.types.ndarray(), top: ti.types.ndarray()):
        for i in a:
            total[None] += a[i]
            ti.atomic_max(top[0], a[i])

    total, top = ti.ndarray(ti.f64, ()), np.zeros(1)
    measure(np.array([1.0, 7.0, 4.0]), total, top)
    assert (total[None], top[0]) == (12.0, 7.0)


def test_funcs_take_them():
    @ti.func
    def doubled(a: ti.types.ndarray(dtype=ti.f64, ndim=1), i):
        return 2 * a[i]

    @ti.func
    def put(a: ti.template(), i, v):
        a[i] = v

    @ti.kernel
    def run(a: ti.types.ndarray(), b: ti.types.ndarray()):
        for i in a:
            put(b, i, doubled(a, i))

    b = np.zeros(3)
    run(np.arange(3.0), b)
    assert b.tolist() == [0.0, 2.0, 4.0]
    with pytest.raises(
        ti.CompilationError, match="takes an array of f64 with 1 axis as `a`, got an array of f32"
    ):
        run(np.arange(3, dtype=np.float32), b)

    @ti.kernel
    def number(i: int) -> float:
        return doubled(i, 0)

    with pytest.raises(ti.CompilationError, match="takes an array of f64 with 1 axis as `a`, got an i32"):
        number(1)


def test_methods_templates_and_captured_numbers():
    class Body:
        def __init__(self):
            self.rate = 2.0

        @ti.kernel
        def grow(self, a: ti.types.ndarray(), by: ti.template()):
            for i in a:
                a[i] = self.rate * a[i] + by[i]

    body, a, by = Body(), np.ones(2), ti.field(ti.f64, shape=2)
    by[1] = 10.0
    body.grow(a, by)
    assert a.tolist() == [2.0, 12.0]
    body.rate = 3.0
    body.grow(a, by)
    assert a.tolist() == [6.0, 46.0]


def test_annotations_without_parentheses_and_in_brackets():
    @ti.kernel
    def clear(a: ti.types.ndarray, b: ti.types.NDArray[ti.f64, 1]):
        for i in a:
            a[i] = 0.0
            b[i] = 1.0

    a, b = np.ones(2), np.zeros(2)
    clear(a, b)
    assert a.tolist() == [0.0, 0.0]
    assert b.tolist() == [1.0, 1.0]
    with pytest.raises(ValueError, match="boundary is 'unsafe' or 'clamp', got 'wrap'"):
        ti.types.ndarray(boundary="wrap")
    with pytest.raises(TypeError, match="not a type of numbers"):
        ti.types.ndarray(dtype="f32")
    with pytest.raises(ValueError, match="element_shape has 1 axes"):
        ti.types.ndarray(element_dim=2, element_shape=(3,))
    with pytest.raises(TypeError, match="given twice"):
        ti.types.ndarray(dtype=ti.math.vec2, element_dim=1)


# ------------------------------------------------------------------ one memory, two names


def test_the_same_array_twice_is_one_memory():
    @ti.kernel
    def shift(source: ti.types.ndarray(), target: ti.types.ndarray()):
        for i in range(3):
            target[i] = source[i + 1]

    a = ti.ndarray(ti.f64, 4)
    a.from_numpy(np.arange(4.0))
    with pytest.warns(ti.DsimWarning, match="runs serially"):
        shift(a, a)
    assert a.to_numpy().tolist() == [1.0, 2.0, 3.0, 3.0]
    b = ti.ndarray(ti.f64, 4)
    shift(a, b)
    assert b.to_numpy().tolist() == [2.0, 3.0, 3.0, 0.0]
    given = np.arange(4.0)
    shift(given, given[:])  # and it is said once
    assert given.tolist() == [1.0, 2.0, 3.0, 3.0]


def test_one_array_for_parameters_that_are_annotated_in_different_ways():
    @ti.kernel
    def shift(a: ti.types.ndarray(), b: ti.types.ndarray(dtype=ti.types.vector(2, ti.f64))):
        for i in range(3):
            a[i] = b[i + 1]

    v = ti.Vector.ndarray(2, ti.f64, 4)
    v.from_numpy(np.arange(8.0).reshape(4, 2))
    with pytest.warns(ti.DsimWarning, match="runs serially"):
        shift(v, v)
    assert v.to_numpy().tolist() == [[2, 3], [4, 5], [6, 7], [6, 7]]


def test_a_gradient_beside_its_array():
    @ti.kernel
    def descend(p: ti.types.ndarray(), g: ti.types.ndarray(), rate: float):
        for i in p:
            p[i] -= rate * g[i]

    p = ti.ndarray(ti.f64, 2, needs_grad=True)
    p.grad.fill(4.0)
    descend(p, p.grad, 0.5)
    assert p.to_numpy().tolist() == [-2.0, -2.0]

    @ti.kernel
    def both(p: ti.types.ndarray()):
        for i in p:
            p[i] = p.grad[i]

    both(p)
    assert p.to_numpy().tolist() == [4.0, 4.0]
    with pytest.raises(ti.GradientError, match="has no gradient"):
        both(ti.ndarray(ti.f64, 2))
    with pytest.raises(ti.GradientError, match="`p` of `both` is a NumPy array"):
        both(np.zeros(2))


def test_a_field_that_the_kernel_knows_by_itself():
    x = ti.field(ti.f64, shape=4)

    @ti.kernel
    def shift(a: ti.types.ndarray(), k: float):
        for i in range(3):
            a[i] = k * x[i + 1]

    x.from_numpy(np.arange(4.0))
    other = np.zeros(4)
    shift(other, 1.0)
    assert other.tolist() == [1.0, 2.0, 3.0, 0.0]
    with pytest.warns(ti.DsimWarning, match="runs serially"):
        shift(x, 2.0)
    assert x.to_numpy().tolist() == [2.0, 4.0, 6.0, 3.0]
