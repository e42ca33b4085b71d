"""All numbers of a memory become 0, or those of another, whatever its type and layout; neighbours stay."""

import numpy as np
import pytest

import dsim as ds
from dsim.backends.cpu import streaming, zeroing
from dsim.runtime.fields.whole_memory import copied, copy, put, zero


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "i1", "u8", "?"])
@pytest.mark.parametrize("shape", [(), (0,), (7,), (3, 40_000), (40_000, 3), (600, 1_000)])
def test_zero(dtype, shape):
    memory = np.ones(shape, dtype)
    zero(memory)
    assert not memory.any()
    assert memory.shape == shape


def test_parts_of_an_array():
    whole = np.ones((300, 400))
    zero(whole[:, :200])
    zero(whole[200:])
    zero(whole.T[300:])
    kept = whole[:200, 200:300]
    assert kept.all()
    assert whole.sum() == kept.size
    assert not np.signbit(whole).any()


def test_as_many_threads_as_launches_have(monkeypatch):
    asked: list[int] = []
    monkeypatch.setattr(zeroing, "_by_threads", lambda: lambda *args: asked.append(args[-1]))
    for threads in (0, 3, 1):
        ds.init(cpu_max_num_threads=threads)
        zero(np.ones(100_000))
    assert asked == [0, 3]


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "i1", "u8", "?"])
@pytest.mark.parametrize("shape", [(), (0,), (7,), (3, 40_000), (40_000, 3), (600, 1_000)])
def test_copy(dtype, shape):
    source = np.random.default_rng(0).integers(0, 100, shape).astype(dtype)
    to = np.zeros(shape, dtype)
    copy(to, source)
    assert np.array_equal(to, source)


def test_copies_of_parts_of_an_array():
    source = np.random.default_rng(0).normal(size=(300, 400))
    to = np.zeros((300, 400))
    copy(to[:, :200], source[:, :200])
    copy(to[100:, 200:], np.asfortranarray(source)[100:, 200:])
    assert np.array_equal(to[:, :200], source[:, :200])
    assert np.array_equal(to[100:], source[100:])
    assert not to[:100, 200:].any()


def test_copies_by_as_many_threads_as_launches_have(monkeypatch):
    asked: list[int] = []
    monkeypatch.setattr(streaming, "through_caches", lambda: lambda *args: asked.append(args[-1]))
    for threads in (0, 3, 1):
        ds.init(cpu_max_num_threads=threads)
        copy(np.ones(100_000), np.ones(100_000))
    assert asked == [0, 3, 1]


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("shape", [(), (0,), (7,), (3, 40_000), (600, 1_000)])
def test_copied(shape, order):
    source = np.asarray(np.random.default_rng(0).normal(size=shape), order=order)
    made = copied(source)
    assert np.array_equal(made, source)
    assert made.dtype == source.dtype
    assert not np.shares_memory(made, source) or made.size == 0


@pytest.mark.parametrize("part", [np.s_[:, :], np.s_[100:200, :], np.s_[:, 100:200], np.s_[7:9, 3:5]])
def test_put(part):
    memory, values = np.zeros((300, 400)), np.random.default_rng(0).normal(size=(300, 400))[part]
    put(memory, part, values)
    assert np.array_equal(memory[part], values)
    memory[part] = 0
    assert not memory.any()


def test_memory_that_may_not_be_written_is_not():
    to = np.zeros(100_000)
    to.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        copy(to, np.ones(100_000))
    assert not to.any()
