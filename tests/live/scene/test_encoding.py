"""Numbers become codes, and codes numbers, within bounds of the error."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from dsim.live.scene.encoding import Packer, limits_of, quantise, restored, unpacked

FLOATS = arrays.arrays(np.float64, st.integers(0, 30), elements=st.floats(width=64))


@pytest.mark.parametrize("bits", [8, 16])
@given(FLOATS)
def test_each_number_comes_back_within_half_a_step(bits, array):
    low, high = limits_of(array)
    found = restored(quantise(array, low, high, bits), low, high)
    finite = np.isfinite(array)
    assert np.isnan(found[~finite]).all()
    step = (high - low if high > low else 1.0) / ((1 << bits) - 2)
    near = np.clip(array[finite], low, high)  # limits end at 1e300
    slack = 4 * np.finfo(np.float64).eps * max(abs(low), abs(high))
    assert (np.abs(found[finite] - near) <= step / 2 + slack).all()


def test_numbers_beyond_the_limits_have_the_nearest_code():
    codes = quantise(np.array([-5.0, 0.0, 0.5, 1.0, 7.0, 1e308]), 0.0, 1.0, 8)
    assert codes.tolist() == [0, 0, 127, 254, 254, 254]
    assert codes.dtype == np.uint8


def test_numbers_that_are_not_finite_have_the_largest_code():
    codes = quantise(np.array([np.nan, np.inf, -np.inf, 1.0]), 0.0, 1.0, 16)
    assert codes.tolist() == [65535, 65535, 65535, 65534]


def test_a_constant_is_itself():
    array = np.full(4, 3.25)
    assert limits_of(array) == (3.25, 3.25)
    assert restored(quantise(array, 3.25, 3.25, 8), 3.25, 3.25).tolist() == [3.25] * 4


@pytest.mark.parametrize("array", [np.zeros(0), np.array([np.nan, np.inf])])
def test_without_finite_numbers_limits_are_0_and_1(array):
    assert limits_of(array) == (0.0, 1.0)


@pytest.mark.parametrize("dtype", [bool, np.int8, np.uint16, np.int64, np.uint64, np.float16, np.float32])
def test_limits_and_codes_of_all_real_types(dtype):
    array = np.array([0, 1, 1], dtype)
    assert limits_of(array) == (0.0, 1.0)
    assert quantise(array, 0.0, 1.0, 8).tolist() == [0, 254, 254]


def test_limits_for_each_axis():
    positions = np.array([[0.0, 100.0], [1.0, 300.0]])
    packer = Packer()
    described = packer.quantised(positions, [0.0, 100.0], [1.0, 300.0], 16)
    assert (described["type"], described["shape"]) == ("u16", [2, 2])
    assert (described["low"], described["high"]) == ([0.0, 100.0], [1.0, 300.0])
    assert unpacked(described, packer.buffer()).tolist() == positions.tolist()


def test_arrays_begin_at_multiples_of_4_and_keep_their_numbers():
    packer = Packer()
    given_ = [
        np.arange(3, dtype=np.uint8),
        np.arange(3, dtype=np.uint16),
        np.arange(5, dtype=np.uint32)[::2],
        np.linspace(0, 1, 6, dtype=np.float32).reshape(3, 2),
        np.zeros((0, 3), np.float32),
        np.arange(3, dtype=">u4"),
    ]
    described = [packer.plain(array) for array in given_]
    data = packer.buffer()
    assert len(data) == packer.size
    assert [each["offset"] % 4 for each in described] == [0] * 6
    assert [each["type"] for each in described] == ["u8", "u16", "u32", "f32", "f32", "u32"]
    for each, array in zip(described, given_, strict=True):
        assert np.array_equal(unpacked(each, data), array)
