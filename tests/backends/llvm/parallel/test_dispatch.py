"""Which thread runs which chunks: an equal share each, and after a long one what others have not begun."""

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
  call void @worker(ptr %frame, i64 %number)
  ret i64 0
}}
"""
AT_ONCE, NEVER = -1, 1 << 60  # cycles of a share after which a thread takes from others


class Shares:
    """A task that is shared by several threads, whose calls a test makes one after the other."""

    def __init__(self, threads: int, chunks: int, first: int = 0, helps: int = AT_ONCE) -> None:
        worker = dispatch._worker(None).replace("@dsim_worker", "@worker")  # that of kernels may be there
        assert worker.count(str(dispatch._WORTH)) == 1
        self._code = MachineCode(worker.replace(str(dispatch._WORTH), str(helps)) + TEXT, {})
        self._enter = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_int64)(self._code.entry)
        self.counters = (ctypes.c_int64 * (LINE * threads))()
        self._frame = (ctypes.c_int64 * (RAN + 1 + chunks))()
        self._frame[frame.COUNT], self._frame[frame.FIRST], self._frame[frame.TEAM] = chunks, first, threads
        self._frame[frame.COUNTERS] = ctypes.addressof(self.counters)

    def call(self, number: int) -> list[int]:
        """The chunks that the thread of this number runs."""
        before = self._frame[RAN]
        self._enter(ctypes.addressof(self._frame), number)
        return list(self._frame[RAN + 1 + before : RAN + 1 + self._frame[RAN]])


def share(number: int, threads: int, chunks: int) -> list[int]:
    """The chunks of a thread."""
    return list(range(number * chunks // threads, (number + 1) * chunks // threads))


@pytest.mark.parametrize("threads", [1, 2, 3, 5, 8])
@pytest.mark.parametrize("chunks", [1, 2, 4, 8, 64])
@pytest.mark.parametrize("first", [0, 8])
@pytest.mark.parametrize("helps", [AT_ONCE, NEVER])
def test_every_chunk_runs_once_whoever_comes_first(threads, chunks, first, helps):
    for number in range(threads):
        task = Shares(threads, chunks, first, helps)
        ran = [c for n in range(threads) for c in task.call((number + n) % threads)]
        assert sorted(ran) == list(range(first, first + chunks))
        assert [task.call(other) for other in range(threads)] == [[]] * threads


@pytest.mark.parametrize(("threads", "chunks"), [(2, 8), (4, 64), (3, 8)])
def test_after_a_short_share_a_thread_is_done(threads, chunks):
    task = Shares(threads, chunks, helps=NEVER)
    for number in range(threads):
        assert task.call(number) == share(number, threads, chunks)


@pytest.mark.parametrize(("threads", "chunks"), [(2, 8), (4, 64), (3, 8)])
def test_after_a_long_share_it_takes_what_others_have_not_begun_but_their_last_chunks(threads, chunks):
    own, *others = (share(n, threads, chunks) for n in range(threads))
    task = Shares(threads, chunks)
    assert task.call(0) == own + [c for other in others for c in other[:-1]]
    assert [task.call(n) for n in range(1, threads)] == [other[-1:] for other in others]


def test_what_others_have_begun_is_theirs():
    task = Shares(2, 8)
    task.counters[LINE] = 2  # the other one has begun 4 and 5
    assert task.call(0) == [0, 1, 2, 3, 6]
    assert task.call(1) == [7]
