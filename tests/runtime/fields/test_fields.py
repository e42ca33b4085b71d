"""Fields from Python: elements, whole arrays, filling, and errors."""

import numpy as np
import pytest

import dsim as ti


@pytest.fixture(autouse=True)
def _fresh():
    ti.init()


def _message(error):
    return str(error.value)


def test_elements_of_a_field_of_numbers():
    x = ti.field(ti.f32, shape=(2, 3))
    x[1, 2] = 2.5
    x[0, np.int64(1)] = np.float32(1.5)
    assert x[1, 2] == 2.5
    assert x[0, 1] == 1.5
    assert type(x[1, 2]) is float
    assert x.shape == (2, 3)


def test_a_single_number():
    n = ti.field(int, shape=())
    n[None] = 7
    assert n[None] == 7
    assert type(n[None]) is int
    assert n[()] == 7


def test_elements_of_a_field_of_vectors():
    v = ti.Vector.field(2, ti.f64, shape=3)
    v[1] = [1.0, 2.0]
    v[2] = ti.Vector([3.0, 4.0])
    v[0] = v[1] + v[2]
    assert v[0].to_list() == [4.0, 6.0]
    assert (v.n, v.m) == (2, 1)


def test_a_number_of_an_element_can_be_set():
    v = ti.Vector.field(2, ti.f32, shape=())
    v[None][1] = 5.0
    v[None].x = 4.0
    assert v[None].to_list() == [4.0, 5.0]
    m = ti.Matrix.field(2, 2, ti.f32, shape=1)
    m[0][1, 0] = 3.0
    assert m[0].to_list() == [[0.0, 0.0], [3.0, 0.0]]


def test_arrays_come_and_go():
    m = ti.Matrix.field(2, 3, ti.f32, shape=(4,))
    values = np.arange(24.0).reshape(4, 2, 3)
    m.from_numpy(values)
    assert m.to_numpy().dtype == np.float32
    np.testing.assert_array_equal(m.to_numpy(), values)
    np.testing.assert_array_equal(m.to_numpy(np.float64), values)
    copy = m.to_numpy()
    copy[:] = 0
    assert m[3][1, 2] == 23.0


def test_a_view_follows_the_field_and_cannot_be_written():
    x = ti.field(ti.f32, shape=3)
    view = np.asarray(x)
    x[1] = 4.0
    assert view.tolist() == [0.0, 4.0, 0.0]
    with pytest.raises(ValueError, match="read-only"):
        view[0] = 1.0


def test_filling():
    x, v = ti.field(ti.i32, shape=3), ti.Vector.field(2, ti.f32, shape=2)
    x.fill(4)
    v.fill([1.0, 2.0])
    assert x.to_numpy().tolist() == [4, 4, 4]
    assert v.to_numpy().tolist() == [[1.0, 2.0], [1.0, 2.0]]
    v.fill(3)
    assert v.to_numpy().tolist() == [[3.0, 3.0], [3.0, 3.0]]


def test_copying_a_field():
    x, y = ti.field(ti.f32, shape=3), ti.field(ti.f32, shape=3)
    x.from_numpy(np.array([1.0, 2.0, 3.0]))
    y.copy_from(x)
    assert y.to_numpy().tolist() == [1.0, 2.0, 3.0]
    with pytest.raises(TypeError, match="shape"):
        y.copy_from(ti.field(ti.f32, shape=4))
    with pytest.raises(TypeError, match="takes a field"):
        y.copy_from(np.zeros(3))


@pytest.mark.parametrize("index", [-1, 4, 100])
def test_an_index_outside(index):
    x = ti.field(ti.f32, shape=4, name="x")
    with pytest.raises(ti.BoundsError) as error:
        x[index]
    assert isinstance(error.value, IndexError)
    assert f"index {index} is outside `x` of shape (4,)" in _message(error)
    with pytest.raises(ti.BoundsError):
        x[index] = 1.0


def test_an_index_outside_one_of_two_axes():
    x = ti.field(ti.f32, shape=(4, 5), name="x")
    with pytest.raises(ti.BoundsError, match=r"index \(1, 5\) is outside `x` of shape \(4, 5\): axis 1"):
        x[1, 5]


def test_a_wrong_number_of_indices():
    x, v, s = (
        ti.field(ti.f32, shape=(4, 5), name="x"),
        ti.Vector.field(2, ti.f32, shape=3, name="v"),
        ti.field(ti.f32, shape=(), name="s"),
    )
    with pytest.raises(TypeError, match=r"`x` of shape \(4, 5\) needs 2 indices, got 1"):
        x[1]
    with pytest.raises(TypeError, match=r"needs 2 indices, got None"):
        x[None]
    with pytest.raises(TypeError) as error:
        v[1, 0]
    assert "help: the index of an entry follows: `v[1][0]`" in _message(error)
    with pytest.raises(TypeError, match=r"write `s\[None\]`"):
        s[0]


def test_an_index_that_is_no_integer():
    x = ti.field(ti.f32, shape=4, name="x")
    with pytest.raises(TypeError, match="an index of `x` must be an integer, got float"):
        x[1.0]
    with pytest.raises(TypeError, match="got slice"):
        x[:]


def test_a_vector_of_another_length():
    v = ti.Vector.field(2, ti.f32, shape=3, name="v")
    with pytest.raises(TypeError, match=r"`v` holds vectors of shape \(2,\), got a value of shape \(3,\)"):
        v[0] = [1.0, 2.0, 3.0]
    with pytest.raises(TypeError, match=r"got a value of shape \(\)"):
        v[0] = 1.0


def test_arrays_that_do_not_fit():
    x, n = ti.field(ti.f32, shape=4, name="x"), ti.field(ti.i8, shape=2, name="n")
    with pytest.raises(TypeError, match=r"`x` takes an array of shape \(4,\), got \(3,\)"):
        x.from_numpy(np.zeros(3))
    with pytest.raises(TypeError) as error:
        n.from_numpy(np.array([1.0, 1.5]))
    assert "`n` holds i8, got an array of float64 with fractional numbers" in _message(error)
    assert "help: convert it: `.astype(np.int8)`" in _message(error)
    with pytest.raises(TypeError, match="got an array of float64 with"):
        n.from_numpy(np.array([1.0, np.nan]))
    n.from_numpy(np.array([1.0, -2.0]))
    assert n.to_numpy().tolist() == [1, -2]
    with pytest.warns(ti.DsimWarning, match="outside -128 … 127, what i8 holds: they wrap around"):
        n.from_numpy(np.array([1, 500]))
    x.from_numpy(np.array([1, 2, 3, 4]))
    assert x[3] == 4.0


def test_before_it_is_placed():
    x = ti.field(ti.f32, name="x")
    for use in (lambda: x[0], lambda: x.fill(1), x.to_numpy, lambda: x.__setitem__(0, 1.0)):
        with pytest.raises(RuntimeError) as error:
            use()
        assert "`x` has not been placed yet" in _message(error)
        assert "help: give `shape=`" in _message(error)


@pytest.mark.parametrize("shape", [0, (3, 0), -1])
def test_an_axis_without_elements(shape):
    with pytest.raises(ValueError, match="at least one element along every axis"):
        ti.field(ti.f32, shape=shape)


def test_types_that_fields_do_not_have():
    with pytest.raises(TypeError, match="not a type of numbers"):
        ti.field("f32", shape=3)
    with pytest.raises(TypeError, match="has no derivatives"):
        ti.field(ti.i32, shape=3, needs_grad=True)
    with pytest.raises(TypeError, match="must be an integer, got float"):
        ti.field(ti.f32, shape=2.5)


def test_default_types():
    ti.init(default_fp=ti.f64, default_ip=ti.i64)
    assert ti.field(float, shape=()).dtype == ti.f64
    assert ti.field(int, shape=()).dtype == ti.i64
    ti.init()
    assert ti.field(float, shape=()).dtype == ti.f32


def test_a_second_init_leaves_fields():
    x = ti.field(ti.f32, shape=2)
    x[1] = 3.0
    ti.init(default_fp=ti.f64)
    assert x[1] == 3.0


def test_an_integer_field_has_no_gradient():
    n = ti.field(ti.i32, shape=2, name="n")
    with pytest.raises(ti.GradientError, match="`n` holds i32: integers have no gradient"):
        n.grad  # noqa: B018


def test_what_it_says_of_itself():
    assert repr(ti.Vector.field(2, ti.f32, shape=3, name="v")) == "<vector field v of 2: f32, shape (3,)>"
    assert "not placed" in repr(ti.field(ti.f32))


def test_python_does_not_go_through_a_field():
    x = ti.field(ti.f32, shape=3, name="x")
    with pytest.raises(TypeError, match="in kernels only"):
        iter(x)
    with pytest.raises(TypeError, match=r"its shape is \(3,\)"):
        len(x)


def test_printing_shows_the_numbers():
    x = ti.Vector.field(2, ti.i32, shape=2)
    x.from_numpy(np.arange(4, dtype=np.int32).reshape(2, 2))
    assert str(x) == "[[0 1]\n [2 3]]"
    assert repr(x) == "<vector field of 2: i32, shape (2,)>"
    assert str(ti.field(ti.f32)) == "<field: f32, not placed>"


@pytest.mark.parametrize("shape", [(1 << 32, 1 << 32), (1 << 31, (1 << 30) + 1), (1 << 20, 1 << 20)])
def test_a_field_that_no_machine_can_hold(shape):
    with pytest.raises(ti.LaunchError, match="GiB, which are not available"):
        ti.field(ti.f64, shape=shape)


def test_fields_and_ndarrays_without_a_name():
    with pytest.raises(TypeError, match=r"\]: the field takes an array of shape \(3,\)"):
        ti.field(ti.f32, shape=3).from_numpy(np.zeros(2))
    with pytest.raises(TypeError, match=r"\]: the ndarray takes an array of shape \(3,\)"):
        ti.ndarray(ti.f32, shape=3).from_numpy(np.zeros(2))
    with pytest.raises(ti.GradientError, match=r"\]: the loss has no gradient"):
        ti.ad.Tape(ti.field(ti.f32, shape=()))
    with pytest.raises(TypeError, match=r"\]: `a` holds f32: got dict"):
        ti.types.struct(a=ti.f32)({"a": 2})


@pytest.mark.parametrize("dtype", [ti.f16, ti.f32, ti.f64, ti.i8, ti.u16, ti.i64, ti.u1])
def test_nobody_can_make_a_view_of_a_field_writeable(dtype):
    x = ti.field(dtype, shape=(2, 3))
    single = ti.field(dtype, shape=())
    vectors = ti.Vector.ndarray(2, dtype, shape=4)
    for f in (x, single, vectors):
        for view in (f.array, np.asarray(f), f.array.T, f.array[..., :1] if f is not single else f.array):
            assert view.dtype == dtype.numpy
            assert np.shares_memory(view, f.array)
            with pytest.raises(ValueError, match="cannot set WRITEABLE flag"):
                view.setflags(write=True)
            with pytest.raises(ValueError, match="read-only"):
                view[...] = 1
        assert f.array.shape == f.shape + f.entry_shape
    x[1, 2] = 1
    assert x.array[1, 2] == 1
    assert x.array.__array_interface__["data"][1]  # that it can be read only


@pytest.mark.parametrize(
    ("given", "advice"),
    [
        (np.zeros(6), r"append `\.reshape\(\(3, 2\)\)` to the array"),
        (np.zeros((2, 2)), r"such as `np\.zeros\(\(3, 2\)\)`"),
        (1.0, r"`np\.full\(\(3, 2\), number\)`"),
    ],
)
def test_what_to_write_for_another_shape(given, advice):
    v = ti.Vector.field(2, ti.f32, shape=3, name="v")
    with pytest.raises(ti.LaunchTypeError, match=rf"(?s)`v` takes an array of shape \(3, 2\).*{advice}"):
        v.from_numpy(given)
    with pytest.raises(
        ti.LaunchTypeError, match=r"(?s)of shape \(3, 2\) cannot take .* of shape \(3,\).*help: both"
    ):
        v.copy_from(ti.field(ti.f32, shape=3))


@pytest.mark.parametrize("of", [lambda x: x, lambda x: x.grad])
def test_the_shape_of_memory_cannot_be_set(of):
    x = ti.field(ti.f64, shape=4, needs_grad=True, name="x")
    field = of(x)
    for shape in (7, (7,), (2, 2)):
        with pytest.raises(ti.LaunchError, match=rf"the shape of `{field.name}` cannot be set.*\(4,\)"):
            field.shape = shape
    assert (x.shape, field.shape, len(field.to_numpy())) == ((4,), (4,), 4)
