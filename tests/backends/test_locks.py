"""The lock of compilation: one thread at a time, by recursion as deep as a kernel is nested."""

import sys
import threading

import pytest

from dsim.backends.locks import COMPILING


def down(depth: int) -> int:
    return 0 if depth == 0 else 1 + down(depth - 1)


def test_who_holds_it_may_go_deeper_than_pythons_limit():
    before = sys.getrecursionlimit()
    with COMPILING:
        with COMPILING:
            assert down(before + 1_000) == before + 1_000
        assert down(before + 1_000) == before + 1_000
    assert sys.getrecursionlimit() == before


def test_the_limit_is_as_before_after_an_error():
    before = sys.getrecursionlimit()
    with pytest.raises(KeyError), COMPILING:
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
