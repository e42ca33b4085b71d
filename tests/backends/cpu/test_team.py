"""Threads that work together: each number once, and nobody waits for a member that has not begun."""

import ctypes
import re
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from numba.np.ufunc.parallel import NUM_THREADS

from dsim.backends.cpu import team as module
from dsim.backends.cpu.runtime import Runtime
from dsim.backends.cpu.team import Team

_WORK = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64)
_TOGETHER = ctypes.CFUNCTYPE(None, ctypes.c_void_p, _WORK, ctypes.c_void_p, ctypes.c_int64)
ME = threading.get_ident


@contextmanager
def a_team(size: int) -> Iterator[Team]:
    made = Team(size)
    assert made.size == 1
    made.start()
    try:
        yield made
    finally:
        made.end()


def run(team: Team, count: int, work=lambda number: None) -> list[tuple[int, int]]:
    """The numbers that work is done for, and by which thread, in the order in which it ends."""
    done: list[tuple[int, int]] = []

    def part(_, number):
        work(number)
        done.append((number, ME()))

    _TOGETHER(team.together)(team.address, _WORK(part), None, count)
    return done


@pytest.mark.parametrize("size", [1, 2, 3, 7])
def test_work_is_done_once_for_each_number(size):
    with a_team(size) as team:
        assert team.size == size
        for count in range(1, size + 1):
            for _ in range(50):
                done = run(team, count)
                assert sorted(number for number, _ in done) == list(range(count))
                assert dict(done)[0] == ME()


def test_members_work_at_the_same_time():
    meeting = threading.Barrier(3, timeout=60)
    with a_team(3) as team:
        done = run(team, 3, lambda number: meeting.wait())
    assert len({thread for _, thread in done}) == 3


def test_a_member_that_sleeps_is_woken(monkeypatch):
    monkeypatch.setattr(module, "_SPINS", 2)
    monkeypatch.setattr(module, "_YIELDS", 2)
    meeting = threading.Barrier(3, timeout=60)
    with a_team(3) as team:
        for _ in range(200):
            time.sleep(0.001)
            assert len({thread for _, thread in run(team, 3, lambda number: meeting.wait())}) == 3


def test_members_that_are_not_wanted_stay_idle():
    meeting = threading.Barrier(2, timeout=60)
    with a_team(4) as team:
        for _ in range(20):
            assert len(run(team, 2, lambda number: meeting.wait())) == 2
        everybody = threading.Barrier(4, timeout=60)
        assert len(run(team, 4, lambda number: everybody.wait())) == 4


def test_who_launches_does_the_part_of_a_member_that_does_not_begin():
    with a_team(3) as team:
        run(team, 3)
        team.end()
        assert run(team, 3) == [(0, ME()), (1, ME()), (2, ME())]


def test_no_more_than_the_system_gives(monkeypatch):
    start = Team._start
    monkeypatch.setattr(Team, "_start", lambda self, index: index < 2 and start(self, index))
    with a_team(5) as team:
        assert team.size == 3
        assert len(run(team, 3)) == 3


def test_a_handler_that_raises_while_members_start(monkeypatch):
    @contextmanager
    def handled():
        yield
        raise TimeoutError

    monkeypatch.setattr(module, "_no_signals", handled)
    made = Runtime()
    with pytest.raises(TimeoutError):
        made.start_threads()
    made.start_threads()
    assert made.threads == made._team.size == NUM_THREADS
    assert len(run(made._team, made.threads)) == NUM_THREADS
    made._end_threads()
    assert made.threads == 1


def test_members_leave_signals_to_pythons_threads():
    meeting = threading.Barrier(3, timeout=60)
    met: set[int] = set()

    def meet(number: int) -> None:
        met.add(threading.get_native_id())
        meeting.wait()

    with a_team(3) as team:
        run(team, 3, meet)
        made = met - {threading.get_native_id()}
        statuses = [Path(f"/proc/self/task/{n}/status").read_text() for n in made]
        blocked = [re.search(r"SigBlk:\s*(\w+)", status) for status in statuses]
    assert len(made) == 2
    for found in blocked:
        assert int(found[1], 16) >> 1 & 1  # SIGINT
        assert not int(found[1], 16) >> 10 & 1  # SIGSEGV


def test_what_a_processor_does_in_a_loop_that_waits(monkeypatch):
    for triple, call in [
        ("x86_64-unknown-linux-gnu", "call void @llvm.x86.sse2.pause()"),
        ("aarch64-unknown-linux-gnu", "call void @llvm.aarch64.hint(i32 1)"),
        ("riscv64-unknown-linux-gnu", ""),
    ]:
        monkeypatch.setattr(module.llvm, "get_process_triple", lambda triple=triple: triple)
        assert module._pause()[1] == call
        assert module._text().count(call or "no such text") == (2 if call else 0)
