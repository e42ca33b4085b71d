"""All numbers of a memory become 0, whatever its type, size and layout; neighbours stay."""

import numpy as np
import pytest

import dsim as ds
from dsim.backends.cpu import zeroing
from dsim.runtime.fields.zeroing import zero


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
