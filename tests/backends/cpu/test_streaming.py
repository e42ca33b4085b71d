"""Copies past the caches."""

import numpy as np
import pytest

from dsim.backends.cpu import streaming
from dsim.backends.cpu.streaming import stream


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16, np.int8])
@pytest.mark.parametrize("size", [0, 1, 7, 8, 15, 16, 17, 63, 64, 127, 128, 129, 1000, 4099])
def test_any_size_at_any_place(dtype, size):
    item = np.dtype(dtype).itemsize
    source = np.arange(1, size + 1).astype(dtype)
    for ahead in range(0, 130, item):
        memory = np.full(size * item + 512, 0xEE, np.uint8)
        begin = -memory.ctypes.data % 64 + ahead
        to = memory[begin : begin + size * item].view(dtype)
        stream(to, source)
        assert np.array_equal(to, source)
        assert (memory[:begin] == 0xEE).all()
        assert (memory[begin + size * item :] == 0xEE).all()


@pytest.mark.parametrize("shape", [(), (5, 3), (2, 0, 4), (7, 2, 2)])
def test_arrays_of_more_axes(shape):
    source = np.random.default_rng(0).random(shape)
    to = np.empty(shape)
    stream(to, source)
    assert np.array_equal(to, source)


def test_what_is_not_contiguous_or_of_another_type():
    source = np.random.default_rng(0).random((40, 30))
    wide = np.full((40, 60), -1.0)
    stream(wide[:, ::2], source)
    assert np.array_equal(wide[:, ::2], source)
    assert (wide[:, 1::2] == -1).all()
    stream(turned := np.empty((40, 30)), np.asfortranarray(source))
    assert np.array_equal(turned, source)
    stream(narrow := np.empty((40, 30), np.float32), source)
    assert np.array_equal(narrow, source.astype(np.float32))


def test_the_stores_are_non_temporal():
    assert "nontemporal" in streaming.past_caches().code.llvm
