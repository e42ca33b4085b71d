"""Memory that a thread touches for those who will use it."""

import ctypes
import mmap
import sys
import threading

import numpy as np
import pytest

from dsim.backends.cpu import first_touch, images

PAGES = 1024


@pytest.fixture
def memory() -> np.ndarray:
    """New memory of whole pages, none of which was touched."""
    return np.frombuffer(mmap.mmap(-1, PAGES * mmap.PAGESIZE), np.int64)


def resident(memory: np.ndarray) -> int:
    """How many of its pages the system has given."""
    states = (ctypes.c_ubyte * (memory.nbytes // mmap.PAGESIZE))()
    libc = ctypes.CDLL(None, use_errno=True)
    assert libc.mincore(ctypes.c_void_p(memory.ctypes.data), ctypes.c_size_t(memory.nbytes), states) == 0
    return sum(s & 1 for s in states)


@pytest.mark.skipif(sys.platform != "linux", reason="asks Linux which pages are there")
def test_all_pages_are_there_afterwards(memory):
    assert resident(memory) == 0
    first_touch.touch(memory, threading.Event())
    assert resident(memory) == PAGES


def test_a_part_of_a_page_at_the_end(memory):
    odd = memory[3 : 3 + 5 * mmap.PAGESIZE // 8 + 1]
    first_touch.touch(odd, threading.Event())
    assert not memory.any()


def test_numbers_stay(memory):
    memory[:] = np.arange(memory.size)
    first_touch.touch(memory, threading.Event())
    np.testing.assert_array_equal(memory, np.arange(memory.size))


def test_what_another_thread_writes_meanwhile_stays(memory):
    """At the very bytes that are touched."""
    bytes_touched = memory.view(np.uint8)[:: first_touch._PAGE]
    ended = threading.Event()

    def touches() -> None:
        for _ in range(200):
            first_touch.touch(memory, threading.Event())
        ended.set()

    thread = threading.Thread(target=touches)
    thread.start()
    lost, count = 0, 0
    while not ended.is_set():
        count = count % 255 + 1
        bytes_touched[:] = count
        lost += int((bytes_touched != count).sum())
    thread.join()
    assert not lost


@pytest.mark.skipif(sys.platform != "linux", reason="asks Linux which pages are there")
def test_it_stops_when_it_is_asked_to(memory):
    stopped = threading.Event()
    stopped.set()
    first_touch.touch(memory, stopped)
    assert resident(memory) == 0


def test_it_leaves_nothing_of_llvm_to_its_thread(monkeypatch):
    monkeypatch.setattr(first_touch, "_code", first_touch._code.__wrapped__)
    left = []

    def touches() -> None:
        first_touch.touch(np.zeros(1 << 12, np.int64), threading.Event())
        left.append(dict(images._TARGETS.made))

    thread = threading.Thread(target=touches)
    thread.start()
    thread.join()
    assert left == [{}]
