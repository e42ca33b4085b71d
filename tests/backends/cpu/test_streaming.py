"""Copies past the caches."""

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest

from dsim.backends.cpu import streaming
from dsim.backends.cpu.runtime import runtime
from dsim.backends.cpu.streaming import stream
from dsim.backends.llvm import frame

_P = ctypes.c_void_p
_PART = ctypes.CFUNCTYPE(None, _P, _P, _P, _P)
# As Numba's threading layers have it: function, arguments, lengths, steps, data, axes, arrays, threads.
PARALLEL_FOR = ctypes.CFUNCTYPE(None, _PART, _P, _P, _P, _P, ctypes.c_int64, ctypes.c_int64, ctypes.c_int32)


@contextmanager
def _threads(count: int, layer) -> Iterator[None]:
    """With so many threads, and a layer in place of Numba's."""
    block = runtime()._block
    before = list(block)
    block[frame.THREADS], block[frame.PARALLEL_FOR] = count, ctypes.cast(layer, _P).value
    try:
        yield
    finally:
        block[frame.THREADS], block[frame.PARALLEL_FOR] = before[frame.THREADS], before[frame.PARALLEL_FOR]
        block[frame.BUSY] = 0


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
    assert "nontemporal" in streaming._copy().code.llvm


@pytest.mark.parametrize("size", [1 << 15, (1 << 16) - 1, 1 << 16, (1 << 17) + 65, 1_000_003, 1 << 22])
@pytest.mark.parametrize("threads", [1, 2, 3, 7])
def test_each_thread_copies_a_part(size, threads, monkeypatch):
    """Of all bytes, each once, wherever the parts end; calls of the layer may come in any order."""
    parts: list[int] = []

    @PARALLEL_FOR
    def backwards(part, args, dims, steps, job, axes, arrays, count):
        for number in reversed(range(count)):
            parts.append(number)
            part(ctypes.byref(ctypes.c_void_p(number)), dims, steps, job)

    source = np.random.default_rng(1).integers(1, 255, size, np.uint8)
    memory = np.zeros(size + 512, np.uint8)
    with _threads(threads, backwards):
        stream(memory[70 : 70 + size], source)
    assert np.array_equal(memory[70 : 70 + size], source)
    assert not memory[:70].any()
    assert not memory[70 + size :].any()
    expected = min(threads, size >> 15)
    assert parts == list(reversed(range(expected))) * (expected > 1)


def test_it_runs_alone_while_a_launch_has_the_threads():
    source, to = np.random.default_rng(2).random(100_000), np.empty(100_000)
    with _threads(4, PARALLEL_FOR(lambda *_: pytest.fail("the threads are taken"))):
        runtime()._block[frame.BUSY] = 1
        stream(to, source)
    assert np.array_equal(to, source)
