"""The fork server as a kernel that Jupyter knows: starts it, and writes the kernel's description."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

SERVER, CLIENT = (Path(__file__).with_name(name) for name in ("fork_server.py", "client.py"))
_START_SECONDS = 60


def _can_fork() -> bool:
    try:
        os.close(os.pidfd_open(os.getpid()))
    except (AttributeError, OSError):  # another system, or a sandbox
        return False
    return True


CAN_FORK = _can_fork()  # where not, kernels start as they do for anybody


@contextlib.contextmanager
def fork_server() -> Iterator[Path]:
    """Runs one; gives its socket."""
    with tempfile.TemporaryDirectory(prefix="dsim-kernels-") as folder:  # a short path: sockets need one
        address = Path(folder) / "socket"
        command = [sys.executable, str(SERVER), str(address)]
        process = subprocess.Popen(command)
        try:
            deadline = time.monotonic() + _START_SECONDS
            while not address.exists():
                assert process.poll() is None, "the fork server has ended"
                assert time.monotonic() < deadline, "the fork server did not start"
                time.sleep(0.02)
            yield address
        finally:
            process.terminate()
            process.wait()


def describe(share: Path, name: str, server: Path) -> None:
    """Writes the description of a kernel `name` that `server` forks below `share`, a part of JUPYTER_PATH."""
    folder = share / "kernels" / name
    folder.mkdir(parents=True)
    argv = [sys.executable, "-I", "-S", str(CLIENT), str(server), "-f", "{connection_file}"]
    description = {"argv": argv, "display_name": "Python 3 (ipykernel)", "language": "python"}
    metadata = {"debugger": True, "supported_encryption": ["curve"]}
    (folder / "kernel.json").write_text(json.dumps({**description, "metadata": metadata}))
