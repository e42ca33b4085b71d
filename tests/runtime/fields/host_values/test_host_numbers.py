"""Assignments of Python numbers to fields: those out of range wrap with a warning or are refused."""

import numpy as np
import pytest

import dsim as ti


@pytest.fixture(autouse=True)
def _fresh():
    ti.init()


def _message(error):
    return str(error.value)


@pytest.mark.parametrize("value", ["a", None, [1.0, 2.0], 1j])
def test_a_value_that_is_no_number(value):
    x = ti.field(ti.f32, shape=4, name="x")
    with pytest.raises(TypeError, match="`x` holds"):
        x[0] = value


def test_a_value_that_an_integer_type_does_not_have():
    n = ti.field(ti.u8, shape=(), name="n")
    n[None] = 2.0
    assert n[None] == 2
    with pytest.warns(ti.DsimWarning, match="300 does not fit into u8: it becomes 44"):
        n[None] = 300
    assert n[None] == 44
    with pytest.raises(TypeError, match=r"2.5 is not an integer"):
        n[None] = 2.5


@pytest.mark.parametrize(
    ("dtype", "value"),
    [
        (ti.u8, -1),
        (ti.i8, 128),
        (ti.i32, 2**31),
        (ti.i32, -(2**31) - 1),
        (ti.u32, 2**40 + 5),
        (ti.i64, 2**63),
    ],
)
def test_integers_from_python_wrap_with_a_warning(dtype, value):
    n = ti.field(dtype, shape=3)
    wrapped = value % 2**dtype.bits
    wrapped -= 2**dtype.bits if dtype.kind == "int" and wrapped >= 2 ** (dtype.bits - 1) else 0
    with pytest.warns(ti.DsimWarning, match=f"it becomes {wrapped}"):
        n[1] = value
    with pytest.warns(ti.DsimWarning, match=f"it becomes {wrapped}"):
        n.fill(value)
    assert n.to_numpy().tolist() == [wrapped] * 3
    n.fill(0)
    if -(2**63) <= value < 2**63:
        with pytest.warns(ti.DsimWarning, match="they wrap around"):
            n.from_numpy(np.array([0, value, 1]))
        assert n.to_numpy().tolist() == [0, wrapped, 1]


def test_vectors_of_integers_from_python_wrap_with_a_warning():
    n = ti.Vector.field(2, ti.u8, shape=2)
    with pytest.warns(ti.DsimWarning, match="257 does not fit into u8: it becomes 1"):
        n[0] = [257, 2]
    assert n.to_numpy().tolist() == [[1, 2], [0, 0]]


def test_single_numbers_of_vectors_fit_or_are_refused_as_those_of_fields():
    v = ti.Vector.field(2, ti.i8, shape=2, name="v")
    element, first = v[0], v.get_scalar_field(0)
    for put in (lambda n: element.__setitem__(1, n), lambda n: first.__setitem__(1, n)):
        with pytest.warns(ti.DsimWarning, match="300 does not fit into i8: it becomes 44"):
            put(300)
        with pytest.raises(ti.LaunchTypeError, match=r"`v` holds i8: 2\.5 is not an integer"):
            put(2.5)
    assert v.to_numpy().tolist() == [[0, 44], [44, 0]]
    with pytest.raises(ti.LaunchTypeError, match="is not an integer"):
        element.xy = [7, 1.5]  # none of both
    with pytest.raises(ti.LaunchTypeError, match=r"cannot become a value of shape \(3,\)"):
        element[:] = [1, 2, 3]
    assert element.to_list() == v[0].to_list() == [0, 44]
    element.yx = [1, 2]
    assert v[0].to_list() == [2, 1]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (np.ma.array([1.0, 2.0], mask=[True, False]), "masked numbers"),
        (np.lib.stride_tricks.as_strided(np.zeros(2), (2,), (10**9,)), "extends beyond the memory"),
        ([[1.0], [2.0, 3.0]], "got list that is not an array"),
    ],
)
def test_arrays_that_do_not_have_their_numbers_are_refused(given, message):
    x = ti.field(ti.f64, shape=2, name="x", needs_grad=True)
    v = ti.Vector.field(2, ti.f64, shape=2, name="v")

    def direction():
        with ti.ad.FwdMode(param=x, seed=given):
            pass

    for put in (
        lambda: x.from_numpy(given),
        lambda: v.fill(given),
        lambda: v.__setitem__(0, given),
        lambda: v.get_scalar_field(1).from_numpy(given),
        direction,
    ):
        with pytest.raises(ti.LaunchTypeError, match=message):
            put()


def test_numbers_of_arrays_with_masks():
    x = ti.field(ti.f64, shape=2, name="x")
    x.from_numpy(np.ma.array([1.0, 2.0], mask=False))
    assert x.to_numpy().tolist() == [1.0, 2.0]
    for put in (lambda: x.__setitem__(0, np.ma.masked), lambda: x.fill(np.ma.masked)):
        with pytest.raises(ti.LaunchTypeError, match="masked numbers"):
            put()


def test_numbers_too_large_for_a_float_field_are_refused():
    x = ti.field(ti.f64, shape=(), name="x")
    with pytest.raises(TypeError, match="`x` holds f64: int too large"):
        x[None] = 10**400


def test_copies_of_numbers_that_an_integer_type_does_not_have():
    n, wide, x = (
        ti.field(t, shape=2, name=name) for t, name in ((ti.u8, "n"), (ti.i32, "wide"), (ti.f64, "x"))
    )
    wide.from_numpy(np.array([300, 2]))
    with pytest.warns(ti.DsimWarning, match="are outside 0 … 255, what u8 holds: they wrap around"):
        n.copy_from(wide)
    assert n.to_numpy().tolist() == [44, 2]
    x.from_numpy(np.array([3.0, 4.0]))
    n.copy_from(x)
    assert n.to_numpy().tolist() == [3, 4]
    for wrong in (2.5, np.nan, np.inf):
        x[1] = wrong
        with pytest.raises(
            ti.LaunchTypeError, match=r"(?s)`n` holds u8, got a field of .*in a kernel: `ds\.cast"
        ):
            n.copy_from(x)
    assert n.to_numpy().tolist() == [3, 4]
