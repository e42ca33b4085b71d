"""Machine code as a built-in function."""

import ctypes
import gc
import os
import subprocess
import sys
import textwrap
import threading
import weakref

import pytest

from dsim.backends.cpu import builtin_calls, disk_cache
from dsim.backends.cpu.builtin_calls import builtin
from dsim.backends.cpu.code import MachineCode

NEXT = """
define i64 @dsim_entry(ptr %frame) {
  %given = load i64, ptr %frame
  %more = add i64 %given, 1
  store i64 %more, ptr %frame
  ret i64 %given
}
"""
WAITS = """
define i64 @dsim_entry(ptr %frame) {
  br label %again
again:
  %now = load volatile i64, ptr %frame
  %going = icmp eq i64 %now, 0
  br i1 %going, label %again, label %over
over:
  ret i64 %now
}
"""


@pytest.mark.parametrize("given", [0, 7, -1, 2**63 - 1])
def test_it_runs_the_code_on_a_frame_and_gives_its_status(given):
    call, slot = builtin(MachineCode(NEXT, {})), ctypes.c_int64(given)
    assert call(ctypes.addressof(slot)) == given
    assert slot.value == ctypes.c_int64(given + 1).value


def test_two_functions_run_their_own_code():
    slot = ctypes.c_int64(5)
    following, waits = builtin(MachineCode(NEXT, {})), builtin(MachineCode(WAITS, {}))
    assert waits(ctypes.addressof(slot)) == 5
    assert following(ctypes.addressof(slot)) == 5
    assert waits(ctypes.addressof(slot)) == 6


def test_what_is_no_address_is_refused():
    call = builtin(MachineCode(NEXT, {}))
    for wrong in ("x", None, 1.5):
        with pytest.raises(TypeError):
            call(wrong)
    with pytest.raises(TypeError):
        call()


def test_other_threads_run_meanwhile():
    call, slot, found = builtin(MachineCode(WAITS, {})), ctypes.c_int64(0), []
    thread = threading.Thread(target=lambda: found.append(call(ctypes.addressof(slot))))
    thread.start()
    slot.value = 3
    thread.join(60)
    assert found == [3]


def test_the_code_lives_as_long_as_the_function():
    code = MachineCode(NEXT, {})
    call, there, slot = builtin(code), weakref.ref(code), ctypes.c_int64(1)
    del code
    gc.collect()
    assert call(ctypes.addressof(slot)) == 1
    del call
    gc.collect()
    assert there() is None


def test_functions_share_what_calls_them():
    assert builtin_calls._caller() is builtin_calls._caller()


BEGUN = """
import os
import sys
import threading
from dsim.backends.cpu import builtin_calls, disk_cache
from dsim.backends.cpu.builtin_calls import builtin
from dsim.backends.cpu.code import MachineCode

def run():
    slots = (ctypes.c_int64 * 1)(5)
    assert builtin(MachineCode(TEXT, {}))(ctypes.addressof(slots)) == 5
    assert slots[0] == 6
"""


def _ran(program: str, folder) -> str:
    """What a program says, which finds machine code in this folder, or makes it."""
    text = f"import ctypes\nTEXT = {NEXT!r}\n{BEGUN}\n{textwrap.dedent(program)}"
    ran = subprocess.run(
        [sys.executable, "-c", text],
        env={**os.environ, disk_cache.VARIABLE: str(folder)},
        check=False,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert (ran.returncode, ran.stderr) == (0, "")
    return ran.stdout


@pytest.mark.slow
def test_another_thread_compiles_what_calls_them_once_for_all_processes(tmp_path):
    program = """
        begun, start = [], threading.Thread.start

        def noted(thread):
            begun.append(thread.name)
            start(thread)

        threading.Thread.start = noted
        builtin_calls.begin()
        builtin_calls.begin()
        run()
        run()
        print(begun)
    """
    assert _ran(program, tmp_path) == "['dsim-compiler']\n"
    assert _ran(program, tmp_path) == "[]\n"


@pytest.mark.slow
def test_where_no_thread_starts_the_caller_compiles_it(tmp_path):
    program = """
        def start(thread):
            raise RuntimeError("can't start new thread")

        threading.Thread.start = start
        run()
        print("ran")
    """
    assert _ran(program, tmp_path) == "ran\n"


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_a_fork_waits_for_what_calls_them(tmp_path):
    program = """
        builtin_calls.begin()
        child = os.fork()
        run()
        if child:
            assert os.waitpid(child, 0) == (child, 0)
        else:
            os._exit(0)
        print("ran")
    """
    assert _ran(program, tmp_path) == "ran\n"


@pytest.mark.slow
def test_kernels_run_until_python_ends(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(
        textwrap.dedent(
            """\
            import atexit
            import dsim as ds

            x = ds.field(ds.i32, shape=())

            @ds.kernel
            def add():
                x[None] += 1

            class AtTheEnd:
                def __del__(self, add=add):
                    add()

            kept = AtTheEnd()
            atexit.register(lambda: (add(), print(x[None])))
            add()
            """
        )
    )
    command = [sys.executable, program]
    ran = subprocess.run(command, check=False, capture_output=True, text=True, timeout=120)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "2\n", "")
