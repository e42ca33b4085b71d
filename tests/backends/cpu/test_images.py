"""Object files that several threads make at the same time."""

import re
import threading
from concurrent.futures import Future
from contextlib import closing

import pytest

from dsim.backends.cpu import images
from dsim.backends.cpu.code import MachineCode
from dsim.backends.cpu.compiler_threads import CompilerThreads
from dsim.backends.cpu.disk_cache import DiskCache

NO_CACHE = DiskCache(None)


def _module(number: int) -> str:
    return f"""define i64 @dsim_entry(ptr %frame) {{
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %sum = phi i64 [ 0, %entry ], [ %more, %loop ]
  %square = mul i64 %i, %i
  %bits = xor i64 %square, {number}
  %more = add i64 %sum, %bits
  %next = add i64 %i, 1
  %again = icmp slt i64 %next, 1000
  br i1 %again, label %loop, label %end
end:
  ret i64 %more
}}"""


@pytest.mark.slow
def test_threads_make_the_files_that_one_thread_makes():
    texts = [_module(n) for n in range(12)]
    alone = [images.made(text, images.SPEED, NO_CACHE) for text in texts]
    found: dict[int, list[bytes]] = {}

    def work(thread: int) -> None:
        found[thread] = [images.made(text, images.SPEED, NO_CACHE) for text in texts]

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert [found[n] for n in range(4)] == [alone] * 4


def test_two_modules_are_in_llvm_at_the_same_time(monkeypatch):
    """A lock around LLVM would let the second one wait for the first for ever."""
    both = threading.Barrier(2, timeout=60)
    library = images._unlocked()

    class Meeting:
        LLVMPY_TargetMachineEmitToMemory = staticmethod(library.LLVMPY_TargetMachineEmitToMemory)

        @staticmethod
        def LLVMPY_RunNewModulePassManager(*args):
            both.wait()
            return library.LLVMPY_RunNewModulePassManager(*args)

    monkeypatch.setattr(images, "_unlocked", lambda: Meeting)
    threads = [
        threading.Thread(target=images.made, args=(_module(n), images.SPEED, NO_CACHE)) for n in range(2)
    ]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert both.broken is False


def test_a_library_that_does_not_give_its_name_is_used_with_its_lock(monkeypatch):
    monkeypatch.setattr(images, "ffi", type("ffi", (), {"lib": object(), "OutputString": None}))
    assert images._unlocked.__wrapped__() is images.ffi.lib


def test_an_error_of_llvm_names_its_reason():
    with pytest.raises(RuntimeError, match=re.escape("expected top-level entity")):
        images.made("no module", images.SPEED, NO_CACHE)


def test_an_image_that_another_thread_makes_is_waited_for():
    image: Future[bytes] = Future()
    image.set_running_or_notify_cancel()
    threading.Timer(0.05, lambda: image.set_result(images.made(_module(3), images.SPEED, NO_CACHE))).start()
    assert MachineCode(_module(3), {}, image=image).entry


def test_an_image_that_no_thread_has_begun_is_made_here():
    image: Future[bytes] = Future()
    assert MachineCode(_module(4), {}, image=image).entry
    assert image.cancelled()


def test_an_image_that_nobody_makes_any_longer_is_made_here():
    image: Future[bytes] = Future()
    image.cancel()
    assert MachineCode(_module(5), {}, image=image).entry


def test_threads_begin_when_the_description_of_the_processor_is_made():
    cached = images._numbas_options, images._in_words, images._versions, images._unlocked
    for made in cached:
        made.cache_clear()
    with closing(CompilerThreads(1)):
        for made in cached:
            assert made.cache_info().currsize
