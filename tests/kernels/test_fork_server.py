"""Forked kernels are as others are: they get signals, end as they choose, and end with who started them."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jupyter_client.manager import KernelManager

from tests.kernels.forks import CAN_FORK, SERVER, describe, fork_server

pytestmark = pytest.mark.skipif(not CAN_FORK, reason="kernels are forked on Linux only")


@pytest.fixture(scope="module")
def share(tmp_path_factory) -> Iterator[Path]:
    with fork_server() as server:
        folder = tmp_path_factory.mktemp("share")
        describe(folder, "forked", server)
        yield folder


@pytest.fixture
def kernel(share, tmp_path, monkeypatch) -> Iterator[tuple[KernelManager, Any]]:
    monkeypatch.setenv("JUPYTER_PATH", str(share))
    monkeypatch.setenv("GIVEN_TO_THE_KERNEL", "yes")
    manager = KernelManager(kernel_name="forked", shutdown_wait_time=10)
    manager.start_kernel(cwd=str(tmp_path))
    client = manager.client()
    client.start_channels()
    client.wait_for_ready(timeout=60)
    yield manager, client
    client.stop_channels()
    if manager.has_kernel:
        manager.shutdown_kernel()


def said(client: Any, code: str) -> str:
    """What a cell prints."""
    texts: list[str] = []

    def heard(message: dict) -> None:
        if message["msg_type"] == "stream":
            texts.append(message["content"]["text"])

    client.execute_interactive(code, output_hook=heard, timeout=60)
    return "".join(texts)


def gone(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


def wait_until(holds: Any) -> None:
    deadline = time.monotonic() + 30
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_it_has_the_folder_the_environment_and_the_arguments_of_its_own(kernel, tmp_path):
    manager, client = kernel
    code = "import os, sys; print(os.getcwd(), os.environ['GIVEN_TO_THE_KERNEL'], sys.argv[2])"
    assert said(client, code).split() == [str(tmp_path), "yes", manager.connection_file]
    assert said(client, "print('' in sys.path, 'tests' in sys.modules)") == "True False\n"


def test_each_is_a_process_of_its_own(kernel, share):
    manager, client = kernel
    pid = int(said(client, "import os; print(os.getpid())"))
    assert pid != manager.provisioner.pid
    said(client, "import dsim; dsim.kept = 1")
    other = KernelManager(kernel_name="forked")
    other.start_kernel()
    beside = other.client()
    beside.start_channels()
    beside.wait_for_ready(timeout=60)
    assert said(beside, "import dsim; print(hasattr(dsim, 'kept'))") == "False\n"
    beside.stop_channels()
    other.shutdown_kernel()
    assert said(client, "print(dsim.kept)") == "1\n"


def test_an_interrupt_reaches_it(kernel):
    manager, client = kernel
    asked = client.execute("print('begun', flush=True)\nimport time\ntime.sleep(60)")
    while client.get_iopub_msg(timeout=60)["msg_type"] != "stream":
        pass
    manager.interrupt_kernel()
    reply = client.get_shell_msg(timeout=30)
    assert reply["parent_header"]["msg_id"] == asked
    assert reply["content"]["ename"] == "KeyboardInterrupt"


def test_how_it_ends_is_how_the_client_ends(kernel):
    manager, client = kernel
    client.execute("import os; os._exit(3)")
    wait_until(lambda: manager.provisioner.process.poll() is not None)
    assert manager.provisioner.process.poll() == 3


def test_a_signal_that_ends_it_ends_the_client(kernel):
    manager, client = kernel
    client.execute("import os, signal; os.kill(os.getpid(), signal.SIGKILL)")
    wait_until(lambda: manager.provisioner.process.poll() is not None)
    assert manager.provisioner.process.poll() == -signal.SIGKILL


def test_it_ends_when_its_client_is_killed(kernel):
    manager, client = kernel
    pid = int(said(client, "import os; print(os.getpid())"))
    assert not gone(pid)
    os.kill(manager.provisioner.pid, signal.SIGKILL)
    wait_until(lambda: gone(pid))


def test_it_ends_with_who_started_it(tmp_path):
    code = f"import subprocess, sys; subprocess.Popen([sys.executable, {str(SERVER)!r}, 'here']); input()"
    with subprocess.Popen([sys.executable, "-c", code], cwd=tmp_path, stdin=subprocess.PIPE) as starter:
        wait_until((tmp_path / "here").exists)
        starter.kill()
    wait_until(lambda: not listens(tmp_path))


def listens(folder: Path) -> bool:
    with socket.socket(socket.AF_UNIX) as asking, contextlib.chdir(folder):
        return asking.connect_ex("here") == 0


@pytest.mark.slow
def test_a_figure_is_shown(kernel):
    _, client = kernel
    shown: list[str] = []
    code = "import matplotlib.pyplot as plt; plt.plot([1, 2]); None"
    client.execute_interactive(code, output_hook=lambda m: shown.append(m["msg_type"]), timeout=60)
    assert "display_data" in shown
