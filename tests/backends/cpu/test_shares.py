"""Work on bytes by all threads: each byte once, wherever shares end."""

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest

from dsim.backends.cpu import streaming, zeroing
from dsim.backends.cpu.runtime import runtime
from dsim.backends.cpu.streaming import stream
from dsim.backends.cpu.zeroing import zero
from dsim.backends.llvm import frame

_P = ctypes.c_void_p
_PART = ctypes.CFUNCTYPE(None, _P, ctypes.c_int64)
TOGETHER = ctypes.CFUNCTYPE(None, _P, _PART, _P, ctypes.c_int64)  # as `Team.together`


@contextmanager
def _threads(count: int, together) -> Iterator[None]:
    """With so many threads, and a function in place of the team's."""
    block = runtime()._block
    before = list(block)
    block[frame.THREADS], block[frame.TOGETHER] = count, ctypes.cast(together, _P).value
    try:
        yield
    finally:
        block[frame.THREADS], block[frame.TOGETHER] = before[frame.THREADS], before[frame.TOGETHER]
        block[frame.BUSY] = 0


def _backwards(numbers: list[int]):
    """Calls the parts in the order that is least expected, and notes their numbers."""

    @TOGETHER
    def together(team, part, job, count):
        for number in reversed(range(count)):
            numbers.append(number)
            part(job, number)

    return together


@pytest.mark.parametrize("size", [1 << 15, (1 << 16) - 1, 1 << 16, (1 << 17) + 65, 1_000_003, 1 << 22])
@pytest.mark.parametrize("threads", [1, 2, 3, 7])
def test_each_thread_copies_a_share(size, threads):
    numbers: list[int] = []
    source = np.random.default_rng(1).integers(1, 255, size, np.uint8)
    memory = np.zeros(size + 512, np.uint8)
    with _threads(threads, _backwards(numbers)):
        stream(memory[70 : 70 + size], source)
    assert np.array_equal(memory[70 : 70 + size], source)
    assert not memory[:70].any()
    assert not memory[70 + size :].any()
    expected = min(threads, size // streaming._LEAST)
    assert numbers == list(reversed(range(expected))) * (expected > 1)


@pytest.mark.parametrize("size", [100, 1 << 17, (1 << 18) - 1, 1 << 18, 1_000_003, 1 << 22])
@pytest.mark.parametrize(("threads", "most"), [(1, 0), (2, 0), (7, 0), (7, 2), (2, 7), (7, 1)])
def test_each_thread_sets_a_share_to_zero(size, threads, most):
    numbers: list[int] = []
    memory = np.full(size + 512, 0xEE, np.uint8)
    with _threads(threads, _backwards(numbers)):
        zero(memory[70 : 70 + size], most)
    assert not memory[70 : 70 + size].any()
    assert (memory[:70] == 0xEE).all()
    assert (memory[70 + size :] == 0xEE).all()
    expected = min(threads, most or threads, size // zeroing._LEAST)
    assert numbers == list(reversed(range(expected))) * (expected > 1)


def test_it_runs_alone_while_a_launch_has_the_threads():
    source, to = np.random.default_rng(2).random(100_000), np.empty(100_000)
    with _threads(4, TOGETHER(lambda *_: pytest.fail("the threads are taken"))):
        runtime()._block[frame.BUSY] = 1
        stream(to, source)
        assert np.array_equal(to, source)
        zero(to, 0)
    assert not to.any()
