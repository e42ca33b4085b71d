"""Ctrl-C in separate programs: a script, a child process, a notebook's kernel."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow  # each test starts processes

ENDLESS = """
import os, sys
import dsim as ds
x = ds.field(ds.i32, shape=4)

@ds.kernel
def forever():
    for i in x:
        n = 1
        while n > 0:
            n = 1 + n % 5
        x[i] = n

@ds.kernel
def says():
    n = 1
    while n > 0:
        n = 1 + n % 5
        print("n =", n)

@ds.kernel
def counts(to: ds.i32):
    for i in range(to):
        x[0] += 1

def launching():
    # says when it is most likely in machine code
    import threading, time
    from dsim.backends.cpu.stop import _running
    main = threading.main_thread().ident
    def watch():
        while _running(main) is None:
            time.sleep(0.001)
        print("launched", file=sys.stderr, flush=True)
    threading.Thread(target=watch, daemon=True).start()
"""
_LONGEST = 100  # seconds


def stopped(tmp_path: Path, rest: str) -> tuple[int, str, str]:
    """The program, which gets Ctrl-C when it says that it has launched: its end, and what it said."""
    file = tmp_path / "program.py"
    file.write_text(ENDLESS + rest)
    ran = subprocess.Popen(
        [sys.executable, str(file)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert ran.stderr is not None
    try:
        while "launched" not in (line := ran.stderr.readline()):
            assert line, "it ended before it launched"
        time.sleep(0.1)
        ran.send_signal(signal.SIGINT)
        out, err = ran.communicate(timeout=_LONGEST)
    finally:
        ran.kill()
    return ran.returncode, out, err


def test_a_script_ends_with_the_persons_line(tmp_path: Path) -> None:
    code, _, err = stopped(tmp_path, "launching()\nforever()\n")
    assert code == -signal.SIGINT
    assert "    forever()\n" in err
    assert err.endswith("KeyboardInterrupt: `forever` was stopped before its end\n")
    assert "/backends/" not in err


def test_a_script_that_prints_stops(tmp_path: Path) -> None:
    rest = "launching()\ntry:\n    says()\nexcept KeyboardInterrupt as stop:\n    print(stop)\n"
    rest += "counts(3)\nprint(x[0])\n"
    code, out, err = stopped(tmp_path, rest)
    assert (code, err) == (0, "")
    assert out.endswith("`says` was stopped before its end\n3\n")
    assert out.startswith("n = 2\nn = 3\n")


def test_a_forked_child_stops(tmp_path: Path) -> None:
    rest = """
counts(3)
try:
    forever.primal.compile()
    child = os.fork()
    if not child:
        launching()
        try:
            forever()
        except KeyboardInterrupt as stop:
            print(stop, flush=True)
            counts(2)
            os._exit(x[0])
    import signal
    signal.signal(signal.SIGINT, lambda *_: os.kill(child, signal.SIGINT))
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
finally:
    sys.stdout.flush()
"""
    code, out, _ = stopped(tmp_path, rest)
    assert (code, out) == (0, "`forever` was stopped before its end\n5\n")


def test_a_notebooks_kernel_goes_on_after_its_stop_button(tmp_path: Path) -> None:
    jupyter_client = pytest.importorskip("jupyter_client")
    manager = jupyter_client.KernelManager(kernel_name="python3", shutdown_wait_time=5)
    manager.start_kernel(cwd=str(tmp_path), env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)})
    client = manager.blocking_client()
    client.start_channels()
    try:
        client.wait_for_ready(timeout=_LONGEST)
        replies = [_run(client, ENDLESS), _run(client, "launching()\nforever()", manager)]
        replies.append(_run(client, "counts(3)\nassert x[0] == 3"))
        awaits = "import asyncio\nasync def wait():\n    launching()\n    forever()\n"
        awaited = _run(client, awaits + "await wait()", manager)
        task = _run(client, "task = asyncio.create_task(wait())\nawait task", manager)
        goes_on = _run(client, "counts(3)\nassert x[0] == 6 and task.cancelled()")
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)
    (first, _), (second, told), (third, _) = replies
    assert (first["status"], third["status"]) == ("ok", "ok")
    assert (second["status"], second["ename"]) == ("error", "KeyboardInterrupt")
    assert told[0] == "KeyboardInterrupt: `forever` was stopped before its end"
    assert [line.split(" ")[-1] for line in told[1:]] == ["forever()"]
    assert [reply["ename"] for reply, _ in (awaited, task)] == ["KeyboardInterrupt", "CancelledError"]
    assert goes_on[0]["status"] == "ok"


def _run(client, code, manager=None):
    """The reply to a cell, and the lines of its error; with the manager, its launch is interrupted."""
    lines = []

    def hear(message):
        text = message["content"].get("text", "")
        if manager is not None and "launched" in text:
            time.sleep(0.1)
            manager.interrupt_kernel()
        if message["msg_type"] == "error":
            lines.extend(message["content"]["traceback"])

    reply = client.execute_interactive(code, timeout=_LONGEST, output_hook=hear)
    return reply["content"], lines
