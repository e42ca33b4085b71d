"""Arrays that do not fit a kernel's parameters are refused, with the expected and the given type."""

import array
import contextlib
import ctypes
import mmap
import os

import numpy as np
import pytest

import dsim as ti
from tests.refused import refused
from tests.runtime.arrays import scale, start


@pytest.fixture(autouse=True, params=["cpu", "reference"])
def _fresh(request):
    start(request.param)


@ti.kernel
def plane(image: ti.types.ndarray(dtype=ti.f32, ndim=2)):
    for i, j in image:
        image[i, j] = 0.0


@ti.kernel
def colors(image: ti.types.ndarray(dtype=ti.types.vector(3, ti.f32), ndim=1)):
    for i in image:
        image[i] = 0.0


@ti.kernel
def learns(w: ti.types.ndarray(needs_grad=True)):
    for i in w:
        w[i] = 0.0


def test_each_array_is_asked_for_its_gradient():
    learns(ti.ndarray(ti.f64, 2, needs_grad=True))
    with pytest.raises(TypeError, match="got one without a gradient"):
        learns(ti.ndarray(ti.f64, 2))


@pytest.mark.parametrize(
    ("kernel", "given", "message"),
    [
        (
            plane,
            lambda: np.zeros((2, 2)),
            r"`image` of `plane` is an array of f32 with 2 axes: got an array of f64 of shape \(2, 2\)",
        ),
        (plane, lambda: ti.ndarray(ti.f32, 3), r"with 2 axes: got an array of f32 of shape \(3,\)"),
        (plane, lambda: ti.Vector.ndarray(2, ti.f32, (3, 3)), "got an array of vectors of 2 f32 of shape"),
        (plane, lambda: [[1.0]], "got an object of type `list`"),
        (plane, lambda: 1.0, "got an object of type `float`"),
        (
            plane,
            lambda: ti.Vector.field(2, ti.f32, (3, 3)).get_scalar_field(0),
            "(?s)got a component of a field\n.*copy it into a field of numbers first",
        ),
        (plane, lambda: np.ma.masked_array(np.zeros((2, 2), np.float32)), "a masked array"),
        (
            colors,
            lambda: np.zeros((4, 2), np.float32),
            r"is an array of vectors of 3 f32 with 1 axis: got an array of f32 of shape \(4, 2\)",
        ),
        (colors, lambda: np.zeros(3, np.float32)[0:0], r"got an array of f32 of shape \(0,\)"),
        (colors, lambda: ti.ndarray(ti.f32, (4, 3)), r"got an array of f32 of shape \(4, 3\)"),
        (scale, lambda: np.zeros(2, complex), "got an array of complex128"),
        (scale, lambda: np.zeros(2, ">f8"), "got an array of >f8"),
        (scale, lambda: np.array([None]), "got an array of object"),
        (learns, lambda: ti.ndarray(ti.f32, 3), "got one without a gradient"),
        (learns, lambda: np.zeros(3), "got one without a gradient"),
    ],
)
def test_arrays_that_do_not_fit(kernel, given, message):
    args = (given(),) if kernel is not scale else (given(), 1.0)
    with pytest.raises(TypeError, match=message):
        kernel(*args)


def test_advice_names_the_conversion():
    with pytest.raises(ti.LaunchTypeError, match=r"help: convert it: `\.astype\(np\.float32\)`"):
        plane(np.zeros((2, 2)))
    with pytest.raises(ti.LaunchTypeError, match=r"help: convert it to the machine's .*`\.astype\('f8'\)`"):
        scale(np.zeros(2, ">f8"), 1.0)
    with pytest.raises(ti.LaunchTypeError, match="help: kernels support real numbers"):
        scale(np.zeros(2, complex), 1.0)


def test_an_index_outside_names_the_parameter():
    @ti.kernel
    def beyond(a: ti.types.ndarray(), n: int):
        for i in range(n):
            a[i + 1] = 1.0

    a = np.zeros(3)
    with pytest.raises(IndexError, match=r"index 3 is outside `a` of shape \(3,\)"):
        beyond(a, 3)
    beyond(a, 2)
    assert a.tolist() == [0.0, 1.0, 1.0]
    b = ti.ndarray(ti.f64, 3, needs_grad=True)
    b.given_name = "known_before"
    with pytest.raises(IndexError, match="is outside `a` of shape"), ti.Tape(ti.ndarray(ti.f64, (), True)):
        beyond(b, 3)


def test_an_unplaced_field():
    with pytest.raises(ti.LaunchError, match="has not been placed"):
        scale(ti.field(ti.f64), 1.0)


class Boaster(np.ndarray):
    """An array that lies about itself."""

    shape = (10**9,)
    strides = (8,)
    base = None


def test_an_array_is_what_numpy_knows_of_it():
    whole = np.arange(4.0)
    scale(whole.view(Boaster), 2.0)
    assert whole.tolist() == [0.0, 2.0, 4.0, 6.0]
    with ti.ad.FwdMode(param=ti.ndarray(ti.f64, ())):
        scale(whole[::-1].view(Boaster), 2.0)
    assert whole.tolist() == [0.0, 4.0, 8.0, 12.0]


@pytest.mark.parametrize(
    "beyond",
    [
        lambda: np.lib.stride_tricks.as_strided(np.zeros(4), (10**9,), (8,)),
        lambda: np.lib.stride_tricks.as_strided(np.zeros(4), (4,), (-(10**9),)),
        lambda: np.lib.stride_tricks.as_strided(np.zeros(4), (3, 4), (8, 8))[1:],
        lambda: np.lib.stride_tricks.as_strided(np.zeros(8)[:4].view(Boaster), (9,), (8,)),
        lambda: np.lib.stride_tricks.as_strided(np.frombuffer(bytearray(32)), (5,), (8,)),
        lambda: np.lib.stride_tricks.as_strided(np.frombuffer(array.array("d", [1.0] * 4)), (5,), (8,)),
        lambda: np.lib.stride_tricks.as_strided(np.asarray(memoryview(np.zeros(4))), (5,), (8,)),
        lambda: np.lib.stride_tricks.as_strided(behind_a_pointer(np.zeros(4)), (5,), (8,)),
    ],
)
def test_views_beyond_their_memory(beyond):
    given = beyond()
    for block in (contextlib.nullcontext(), ti.ad.FwdMode(param=ti.ndarray(ti.f64, ()))):
        with pytest.raises(ti.LaunchTypeError, match=r"`a` of `scale` .* beyond the memory"), block:
            scale(given, 2.0)


def behind_a_pointer(array):
    """As a library of C gives an array."""
    pointer = array.ctypes.data_as(ctypes.POINTER(ctypes.c_double))
    return np.ctypeslib.as_array(pointer, array.shape)


def test_arrays_of_libraries_of_c():
    whole = np.ones((2, 3))
    scale(behind_a_pointer(whole)[:, 1:], 2.0)
    assert whole.tolist() == [[1.0, 2.0, 2.0]] * 2
    scale(np.ctypeslib.as_array((ctypes.c_double * 3)()), 2.0)
    with ti.ad.FwdMode(param=ti.ndarray(ti.f64, ())):
        scale(behind_a_pointer(whole), 2.0)
    assert whole.tolist() == [[2.0, 4.0, 4.0]] * 2


def test_views_inside_their_memory():
    whole = np.ones(4)
    scale(np.lib.stride_tricks.as_strided(whole[1:], (2,), (16,)), 2.0)
    assert whole.tolist() == [1.0, 2.0, 1.0, 2.0]
    scale(np.lib.stride_tricks.as_strided(whole, (0, 9), (800, 8)), 2.0)
    buffer = bytearray(whole.tobytes())
    scale(np.frombuffer(buffer), 3.0)
    assert np.frombuffer(buffer).tolist() == [3.0, 6.0, 3.0, 6.0]


def test_files_in_memory(tmp_path):
    np.arange(1024.0).tofile(tmp_path / "numbers")
    mapped = np.memmap(tmp_path / "numbers", np.float64, "r+", offset=4096)
    scale(mapped[::2], -1.0)
    assert mapped[:3].tolist() == [-512.0, 513.0, -514.0]
    whole = np.memmap(tmp_path / "numbers", np.float64, "r+")
    os.truncate(tmp_path / "numbers", 512)
    with pytest.raises(ti.LaunchTypeError, match="beyond the memory"):
        scale(whole, 2.0)
    anonymous = mmap.mmap(-1, 4096)
    scale(np.frombuffer(anonymous), 2.0)


@ti.kernel
def from_other(a: ti.types.ndarray(), b: ti.types.ndarray()):
    for i in a:
        a[i] = b[i]


def unwritable() -> np.ndarray:
    given = np.zeros(4)
    given.flags.writeable = False
    return given


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (lambda v: (v[:4], v[1:5]), "`a` of `from_other` and `b` overlap in memory"),
        (lambda v: (unwritable(), v[:4]), "`a` of `from_other` is written, and the array is read-only"),
        (
            lambda v: (np.lib.stride_tricks.as_strided(v, (3, 3), (8, 8)), np.zeros((3, 3))),
            "is written, and elements of the array share memory",
        ),
    ],
)
def test_the_call_is_marked(given, message):
    """Not the kernel's definition, which may be right for other arrays."""
    field = ti.field(ti.f64, 4)
    for arrays, why in ((given(np.zeros(8)), message), ((field.array, np.zeros(4)), "view of a field")):

        def act(arrays=arrays):
            from_other(*arrays)  # this call

        refused(act, f"{why}.*from_other\\(\\*arrays\\)  # this call", __file__)
