"""The compilation lock: one thread at a time, reentrant to the nesting depth of a kernel."""

import os
import signal
import sys
import threading
import time

import pytest

from dsim.backends import locks
from dsim.backends.locks import COMPILING, NUMBAS_LOCK, room_to_compile, short_lock


def down(depth: int) -> int:
    return 0 if depth == 0 else 1 + down(depth - 1)


def test_who_holds_it_may_go_deeper_than_pythons_limit():
    before = sys.getrecursionlimit()
    with COMPILING, room_to_compile():
        with COMPILING, room_to_compile():
            assert down(before + 1_000) == before + 1_000
        assert down(before + 1_000) == before + 1_000
    assert sys.getrecursionlimit() == before


def test_the_limit_is_as_before_after_an_error():
    before = sys.getrecursionlimit()
    with pytest.raises(KeyError), COMPILING, room_to_compile():
        raise KeyError
    assert sys.getrecursionlimit() == before


def test_one_thread_at_a_time():
    inside, most = [], []

    def work():
        for _ in range(50):
            with COMPILING:
                inside.append(1)
                most.append(len(inside))
                inside.pop()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert max(most) == 1


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="interrupts itself by a timer")
def test_ctrl_c_at_any_instruction_leaves_them_free():
    """Thousands of times, each a little later: also while they are taken and released."""
    came = 0
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    limits = sys.getrecursionlimit(), sys.getswitchinterval()
    try:
        for n in range(3_000):
            try:
                signal.setitimer(signal.ITIMER_REAL, 1e-6 + n % 60 * 1e-6)
                for _ in range(200):
                    with COMPILING, room_to_compile(), NUMBAS_LOCK:
                        pass
                signal.setitimer(signal.ITIMER_REAL, 0)
            except KeyboardInterrupt:
                came += 1
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        sys.setrecursionlimit(limits[0])
        sys.setswitchinterval(limits[1])
    assert came > 1_000
    free = []

    def take() -> None:
        for lock in (COMPILING, NUMBAS_LOCK):
            free.append(lock.acquire(timeout=1))
            lock.release()

    thread = threading.Thread(target=take)
    thread.start()
    thread.join()
    assert free == [True, True]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_a_forked_child_finds_short_locks_free():
    lock, held = short_lock(), threading.Event()

    def work():
        with lock:
            held.set()
            time.sleep(0.05)

    thread = threading.Thread(target=work)
    thread.start()
    held.wait()
    child = os.fork()
    if child == 0:
        os._exit(0 if lock.acquire(timeout=1) else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert lock.acquire(timeout=1)
    lock.release()
    thread.join()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no other way to have a child")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # newer versions of Python warn of any thread
def test_ctrl_c_while_a_fork_waits(monkeypatch):
    """It is raised when the fork has returned, and all locks are free then."""
    came = []

    def interrupted():
        if not came:
            came.append(True)
            raise KeyboardInterrupt

    monkeypatch.setattr(locks, "_BEFORE_FORK", [*locks._BEFORE_FORK, interrupted])
    children = []

    def forks() -> None:
        children.append(os.fork())
        if not children[0]:
            os._exit(0)
        time.sleep(20)

    with pytest.raises(KeyboardInterrupt):
        forks()
    assert os.waitpid(children[0], 0)[1] == 0
    free = []

    def take():
        with COMPILING:
            free.append(True)

    thread = threading.Thread(target=take)
    thread.start()
    thread.join(20)
    assert free
