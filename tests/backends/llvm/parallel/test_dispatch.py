"""Which thread runs which chunks: an equal share each, the same in every task, and then what others left."""

import ctypes

import pytest

from dsim.backends.cpu.code import MachineCode
from dsim.backends.llvm import frame
from dsim.backends.llvm.parallel import dispatch
from dsim.backends.llvm.text import PLAIN

LINE = 8  # slots between the counters of two threads
RAN = frame.FIXED  # how many chunks have run; their numbers follow
# The task notes its chunk.
TEXT = f"""
define void @task(ptr %frame, i64 %chunk) {PLAIN} {{
  %ran_at = getelementptr i64, ptr %frame, i64 {RAN}
  %ran = load i64, ptr %ran_at
  %more = add i64 %ran, 1
  store i64 %more, ptr %ran_at
  %list = getelementptr i64, ptr %ran_at, i64 1
  %at = getelementptr i64, ptr %list, i64 %ran
  store i64 %chunk, ptr %at
  ret void
}}

define i64 @dsim_entry(ptr %frame, i64 %number) {{
  %task_at = getelementptr i64, ptr %frame, i64 {frame.TASK}
  store ptr @task, ptr %task_at
  %args = alloca ptr
  %given = inttoptr i64 %number to ptr
  store ptr %given, ptr %args
  call void @worker(ptr %args, ptr null, ptr null, ptr %frame)
  ret i64 0
}}
"""


class Team:
    """A task that is shared by several threads, whose calls a test makes one after the other."""

    def __init__(self, threads: int, chunks: int, first: int = 0) -> None:
        worker = dispatch._worker(None).replace("@dsim_worker", "@worker")  # that of kernels may be there
        self._code = MachineCode(worker + TEXT, {})
        self._enter = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_int64)(self._code.entry)
        self.counters = (ctypes.c_int64 * (LINE * threads))()
        self._frame = (ctypes.c_int64 * (RAN + 1 + chunks))()
        self._frame[frame.COUNT], self._frame[frame.FIRST], self._frame[frame.TEAM] = chunks, first, threads
        self._frame[frame.COUNTERS] = ctypes.addressof(self.counters)

    def call(self, number: int) -> list[int]:
        """The chunks that the call of this number runs."""
        before = self._frame[RAN]
        self._enter(ctypes.addressof(self._frame), number)
        return list(self._frame[RAN + 1 + before : RAN + 1 + self._frame[RAN]])


@pytest.mark.parametrize("threads", [1, 2, 3, 5, 8])
@pytest.mark.parametrize("chunks", [1, 2, 4, 8, 64])
@pytest.mark.parametrize("first", [0, 8])
def test_every_chunk_runs_once_whoever_comes(threads, chunks, first):
    for number in range(threads):
        team = Team(threads, chunks, first)
        alone = team.call(number)
        assert sorted(alone) == list(range(first, first + chunks))
        assert [team.call(other) for other in range(threads)] == [[]] * threads


@pytest.mark.parametrize(("threads", "chunks"), [(2, 8), (4, 64), (3, 8)])
def test_a_thread_begins_with_its_own_share(threads, chunks):
    shares = [range(n * chunks // threads, (n + 1) * chunks // threads) for n in range(threads)]
    for number, share in enumerate(shares):
        assert Team(threads, chunks).call(number)[: len(share)] == list(share)


def test_then_it_takes_what_its_neighbours_have_not_begun():
    team = Team(2, 8)
    team.counters[LINE] = 3  # the other one has begun 4, 5 and 6
    assert team.call(0) == [0, 1, 2, 3, 7]
    assert team.call(1) == []


def test_a_number_beyond_the_team_is_taken_into_it():
    team = Team(3, 6)
    assert team.call(4)[:2] == [2, 3]
