"""Vectors and matrices outside kernels."""

import copy
import pickle

import numpy as np
import pytest

import dsim as ti


def test_operators():
    a, b = ti.Vector([1.0, 2.0]), ti.Vector([3.0, 5.0])
    assert (a + b).to_list() == [4.0, 7.0]
    assert (2 * a - 1).to_list() == [1.0, 3.0]
    assert (1 / a).to_list() == [1.0, 0.5]
    assert (-a).to_list() == [-1.0, -2.0]
    assert (b // 2).to_list() == [1.0, 2.0]
    assert (a**2).to_list() == [1.0, 4.0]
    assert (a < b).all()
    assert (np.float64(2.0) * a).to_list() == [2.0, 4.0]


def test_products():
    m = ti.Matrix([[1.0, 2.0], [3.0, 4.0]])
    a = ti.Vector([1.0, 1.0])
    assert (m @ a).to_list() == [3.0, 7.0]
    assert (m @ m).to_list() == [[7.0, 10.0], [15.0, 22.0]]
    assert a.dot(ti.Vector([2.0, 3.0])) == 5.0
    assert a.outer_product(ti.Vector([2.0, 3.0])).to_list() == [[2.0, 3.0], [2.0, 3.0]]
    assert ti.Vector([1, 0, 0]).cross(ti.Vector([0, 1, 0])).to_list() == [0, 0, 1]
    assert ti.Vector([1.0, 0.0]).cross(ti.Vector([0.0, 1.0])) == 1.0


def test_matrix_functions():
    m = ti.Matrix([[1.0, 2.0], [3.0, 4.0]])
    assert m.determinant() == pytest.approx(-2.0)
    assert m.trace() == 5.0
    assert m.transpose().to_list() == [[1.0, 3.0], [2.0, 4.0]]
    assert np.asarray(m.inverse() @ m) == pytest.approx(np.eye(2))
    assert (m.sum(), m.max(), m.min()) == (10.0, 4.0, 1.0)


def test_lengths():
    a = ti.Vector([3.0, 4.0])
    assert a.norm() == 5.0
    assert a.norm_sqr() == 25.0
    assert a.norm(11.0) == 6.0
    assert a.norm_inv() == 0.2
    assert a.normalized().to_list() == [0.6, 0.8]
    assert ti.Vector([0.0, 0.0]).normalized().to_list() == [0.0, 0.0]


def test_makers():
    assert ti.Matrix.identity(ti.f32, 2).to_list() == [[1.0, 0.0], [0.0, 1.0]]
    assert ti.Matrix.zero(float, 2, 3).shape == (2, 3)
    assert ti.Vector.zero(int, 2).to_list() == [0, 0]
    assert ti.Vector.one(ti.f32, 2).to_list() == [1.0, 1.0]
    assert ti.Vector.unit(3, 1).to_list() == [0, 1, 0]
    assert ti.Matrix.cols([[1, 2], [3, 4]]).to_list() == [[1, 3], [2, 4]]
    assert ti.Matrix.rows([ti.Vector([1, 2]), [3, 4]]).to_list() == [[1, 2], [3, 4]]
    assert ti.Matrix.diag(2, 3.0).to_list() == [[3.0, 0.0], [0.0, 3.0]]


def test_kinds():
    v, m = ti.Vector([1.0, 2.0]) + 1, ti.Matrix([[1.0]]) * 2
    assert isinstance(v, ti.Vector)
    assert isinstance(m, ti.Matrix)
    assert not isinstance(m, ti.Vector)
    assert not isinstance(3.0, ti.Vector)


def test_letters_and_places():
    v = ti.Vector([1.0, 2.0, 3.0])
    assert (v.x, v.z, v.zy.to_list()) == (1.0, 3.0, [3.0, 2.0])
    v.y = 5.0
    v[0] = 4.0
    assert list(v) == [4.0, 5.0, 3.0]
    m = ti.Matrix([[1, 2], [3, 4]])
    assert (m[1, 0], m[1].to_list()) == (3, [3, 4])
    with pytest.raises(AttributeError, match="no attribute 'w'"):
        v.w  # noqa: B018


def test_what_does_not_fit():
    with pytest.raises(TypeError, match=r"shapes \(2,\) and \(3,\) do not match"):
        ti.Vector([1, 2]) + ti.Vector([1, 2, 3])
    with pytest.raises(TypeError, match="needs a square matrix"):
        ti.Vector([1, 2]).trace()
    with pytest.raises(TypeError, match="made of a list of numbers"):
        ti.Vector("ab")
    with pytest.raises(TypeError, match=r"rows of equal length, got \[\[1, 2\], \[3\]\]"):
        ti.Matrix([[1, 2], [3]])
    with pytest.raises(TypeError, match="made of a list of numbers"):
        ti.Vector(["a", 2])
    with pytest.raises(TypeError, match="has no truth value"):
        bool(ti.Vector([1, 2]) == ti.Vector([1, 2]))


def test_functions_outside_kernels():
    assert ti.sin(0.0) == 0.0
    assert type(ti.sqrt(4)) is float
    assert ti.max(1, 5, 3) == 5
    assert ti.min(ti.Vector([1, 5]), 3).to_list() == [1, 3]
    assert ti.select(True, 1.0, 2.0) == 1.0
    assert ti.cast(2.7, ti.i32) == 2
    assert ti.cast(-1, ti.u8) == 255
    assert ti.cast(ti.Vector([1.5, -2.5]), int).to_list() == [1, -2]
    assert ti.math.clamp(5.0, 0.0, 1.0) == 1.0
    assert ti.math.dot(ti.Vector([1, 2]), ti.Vector([3, 4])) == 11
    assert ti.math.mix(0.0, 10.0, 0.25) == 2.5
    assert ti.static(3) == 3
    assert list(ti.ndrange(2, (1, 3))) == [(0, 1), (0, 2), (1, 1), (1, 2)]
    assert 0.0 <= ti.random() < 1.0
    with pytest.raises(RuntimeError, match="inside kernels only"):
        ti.atomic_add(1, 2)


def test_compound_types():
    vec = ti.types.vector(2, ti.f32)
    assert vec(1.0, 2.0).to_list() == [1.0, 2.0]
    assert vec(3.0).to_list() == [3.0, 3.0]
    assert vec.field(shape=4).entry_shape == (2,)
    assert ti.types.matrix(2, 3, float).field(shape=()).entry_shape == (2, 3)
    assert ti.math.vec3(1, 2, 3).to_list() == [1.0, 2.0, 3.0]
    with pytest.raises(TypeError, match="not a type of numbers"):
        ti.types.vector(2, "f32")


def test_operators_on_bits():
    v, w = ti.Vector([1, 6]), ti.Vector([3, 2])
    assert [(v & w).to_list(), (v | w).to_list(), (v ^ w).to_list()] == [[1, 2], [3, 6], [2, 4]]
    assert [(v << 1).to_list(), (v >> 1).to_list(), (~v).to_list()] == [[2, 12], [0, 3], [-2, -7]]
    assert [(1 & v).to_list(), (1 | v).to_list(), (1 ^ v).to_list()] == [[1, 0], [1, 7], [0, 7]]
    assert [(1 << v).to_list(), (64 >> v).to_list()] == [[2, 64], [32, 1]]
    with pytest.raises(TypeError):
        _ = ti.Vector([1.0]) & 1


def test_copies():
    v, x = ti.Vector([1, 2]), ti.Vector.field(2, ti.f32, shape=2)
    x[0] = [3.0, 4.0]
    for value in (v, ti.Matrix([[1.0, 2.0], [3.0, 4.0]]), x[0]):
        for made in (copy.copy(value), copy.deepcopy(value), pickle.loads(pickle.dumps(value))):
            assert made.to_list() == value.to_list()
            made[0] = 9
            assert made.to_list() != value.to_list()
    assert x[0].to_list() == [3.0, 4.0]


def refused(kind, run):
    with pytest.raises(kind) as caught:
        run()
    lines = str(caught.value).splitlines()
    assert "│ " in str(caught.value)  # the person's line
    return lines[0], lines[-1]


VECTOR, MATRIX = ti.Vector([1.0, 2.0, 3.0]), ti.Matrix([[1.0, 2.0], [3.0, 4.0]])


@pytest.mark.parametrize("key", [3, -4, 300, np.int64(3)], ids=repr)
def test_an_index_outside_of_a_vector(key):
    told = (
        f"error[out-of-bounds]: index {key} is outside a vector of 3",
        "help: indices count from 0: the last one is `[2]`",
    )
    assert refused(ti.BoundsError, lambda: VECTOR[key]) == told
    assert refused(IndexError, lambda: VECTOR.__setitem__(key, 1.0)) == told


def test_indices_into_a_matrix():
    assert refused(IndexError, lambda: MATRIX[0, 2]) == (
        "error[out-of-bounds]: index (0, 2) is outside a matrix of 2 by 2",
        "help: indices count from 0: the last one is `[1, 1]`",
    )
    assert refused(TypeError, lambda: MATRIX.__setitem__((0, 0, 0), 1.0)) == (
        "error[index]: a matrix of 2 by 2 needs 2 indices, got 3",
        "help: count from 0: the last one is `[1, 1]`",
    )


@pytest.mark.parametrize("key", [1.0, "x"])
def test_an_index_that_is_no_integer(key):
    told = (
        f"error[index]: an index into a vector of 3 must be an integer, got {type(key).__name__}",
        "help: count from 0: the last one is `[2]`",
    )
    assert refused(TypeError, lambda: VECTOR[key]) == told
    assert refused(TypeError, lambda: VECTOR.__setitem__(key, 1.0)) == told


def test_values_that_do_not_fit_are_refused():
    v = ti.Vector([1.0, 2.0])
    for value in ("a", [1.0, 2.0, 3.0]):
        message, advice = refused(TypeError, lambda value=value: v.__setitem__(0, value))
        assert message.startswith("error[type]: a vector of 2 does not accept this: ")
        assert advice == "help: assign as many numbers as there are entries"
    assert v.to_list() == [1.0, 2.0]


@pytest.mark.parametrize(
    ("make", "kept", "number"),
    [
        (lambda: ti.Vector([300, 1], ti.u8), [44, 1], 300),
        (lambda: ti.Vector([1, -1], ti.u8), [1, 255], -1),
        (lambda: ti.Vector([2**40, 7], ti.i32), [0, 7], 2**40),
        (lambda: ti.Vector([2**63, 7], ti.i64), [-(2**63), 7], 2**63),
        (lambda: ti.Matrix([[200, 1], [2, 3]], ti.i8), [[-56, 1], [2, 3]], 200),
    ],
)
def test_integers_that_do_not_fit_wrap_around(make, kept, number):
    with pytest.warns(ti.DsimWarning, match=f"{number} does not fit into u?int.*: it becomes") as said:
        made = make()
    assert made.to_list() == kept
    assert len(said) == 1
    assert str(said[0].message).endswith("help: use a wider type, or reduce the number first")


def test_integers_that_do_not_fit_where_they_are_set():
    v = ti.Vector([1, 2], ti.u8)
    with pytest.warns(ti.DsimWarning, match="300 does not fit into uint8: it becomes 44"):
        v[1] = 300
    assert v.to_list() == [1, 44]
    with pytest.warns(ti.DsimWarning, match="-1 does not fit into uint8: it becomes 255"):
        v.fill(-1)
    assert v.to_list() == [255, 255]


@pytest.mark.parametrize("number", [float("inf"), float("nan")])
def test_what_is_not_finite_is_no_integer(number):
    told = (
        f"error[type]: {number} is not an integer, and int32 holds integers",
        "help: use a float type, such as `ds.f64`",
    )
    assert refused(TypeError, lambda: ti.Vector([1.0, number], ti.i32)) == told


def test_an_infinity_that_is_set():
    v = ti.Vector([1, 2], ti.i32)
    message, _ = refused(TypeError, lambda: v.__setitem__(0, float("inf")))
    assert message == "error[type]: inf is not an integer, and int32 holds integers"
    assert v.to_list() == [1, 2]


def test_an_entry_of_a_field():
    ti.init(default_fp=ti.f64)
    v = ti.Vector.field(3, ti.f64, shape=2, name="v")
    v[0] = [1.0, 2.0, 3.0]
    told = (
        "error[out-of-bounds]: index 5 is outside an entry of `v`, a vector of 3",
        "help: indices count from 0: the last one is `[2]`",
    )
    assert refused(IndexError, lambda: v[0].__setitem__(5, 1.0)) == told
    assert refused(IndexError, lambda: v[0][5]) == told
    assert refused(TypeError, lambda: v[0].__setitem__((0, 1), 1.0))[0] == (
        "error[index]: an entry of `v`, a vector of 3 needs 1 index, got 2"
    )
    assert v.to_numpy().tolist() == [[1.0, 2.0, 3.0], [0.0] * 3]


def test_letters_of_long_vectors():
    v = ti.types.vector(300, ti.i32)(list(range(300)))
    assert v.zyx.to_list() == [2, 1, 0]
    assert np.asarray(v).tolist() == list(range(300))
    for name in ("foo", "sums", "_x"):
        with pytest.raises(AttributeError, match=f"a vector of 300 has no attribute '{name}'"):
            getattr(v, name)


def test_a_long_vector_as_an_argument():
    long = ti.types.vector(120, ti.i32)

    @ti.kernel
    def run(v: long) -> ti.i32:  # pyright: ignore[reportInvalidTypeForm]
        s = 0
        for i in range(120):
            s += i * v[i]
        return s

    assert run(long(list(range(120)))) == sum(i * i for i in range(120))


def test_letters_that_are_assigned():
    x = ti.Vector.field(2, ti.f64, shape=1)
    for v in (ti.Vector([1.0, 2.0]), x[0]):
        v.yx = [3.0, 4.0]
        assert v.to_list() == [4.0, 3.0]
        v.xy = 5.0
        v.y = 6.0
        assert v.to_list() == [5.0, 6.0]
        for name in ("z", "xyz", "size", "foo"):
            with pytest.raises(AttributeError, match=f"a vector of 2 has no attribute '{name}'"):
                setattr(v, name, 0.0)
        with pytest.raises(ValueError, match=r"`xy` denotes 2 numbers, got shape \(3,\)"):
            v.xy = [1.0, 2.0, 3.0]
        assert v.to_list() == [5.0, 6.0]
    assert x.to_numpy().tolist() == [[5.0, 6.0]]
    m = ti.Matrix([[1.0, 2.0], [3.0, 4.0]])
    with pytest.raises(AttributeError, match="a matrix of 2 by 2 has no attribute 'x'"):
        m.x = 0.0
    assert m.to_list() == [[1.0, 2.0], [3.0, 4.0]]
