"""Starts JupyterLab on this machine, reachable from this machine only."""

from __future__ import annotations

import importlib.util
import os
import signal
import subprocess
import sys
from pathlib import Path
from types import FrameType

from dsim.tooling.errors import ToolError

LOOPBACK = "127.0.0.1"


def lab_command(path: Path, *, port: int | None, browser: bool, allow_root: bool) -> list[str]:
    """The command line that starts JupyterLab.

    Options on the command line override the user's configuration: a server that is configured to listen
    on the network listens locally when dsim starts it.

    Parameters
    ----------
    path : Path
        A notebook, or a folder, to open.
    port : int or None
        Port to listen on; JupyterLab looks for a free one when it is None.
    browser : bool
        Whether to open the browser.
    allow_root : bool
        Whether it may run as the administrator.

    Returns
    -------
    list of str
        The command and its arguments.
    """
    command = [sys.executable, "-m", "jupyterlab", str(path)]
    command += [f"--ServerApp.ip={LOOPBACK}", "--ServerApp.allow_remote_access=False"]
    if port is not None:
        command += [f"--ServerApp.port={port}", "--ServerApp.port_retries=0"]
    if not browser:
        command.append("--no-browser")
    if allow_root:
        command.append("--allow-root")
    return command


def start_lab(path: Path, *, port: int | None = None, browser: bool = True, allow_root: bool = False) -> int:
    """Start JupyterLab and wait until it ends.

    Parameters
    ----------
    path : Path
        A notebook, or a folder, to open.
    port : int, optional
        Port to listen on.
    browser : bool
        Whether to open the browser.
    allow_root : bool
        Whether it may run as the administrator.

    Returns
    -------
    int
        JupyterLab's exit status.

    Raises
    ------
    ToolError
        When JupyterLab is not installed, when there is nothing at `path`, or when the administrator starts it
        without `allow_root`.
    """
    if importlib.util.find_spec("jupyterlab") is None:
        raise ToolError("JupyterLab is not installed", help='pip install "dsim[lab]"')
    if not path.exists():
        raise ToolError(f"there is no notebook or folder {path}", help="give the path of one that exists")
    if is_administrator() and not allow_root:
        raise ToolError(
            "JupyterLab does not start as root: anyone who reaches it could control this machine",
            help="use another account; on a throw-away machine add --allow-root (make lab ARGS=--allow-root)",
        )
    return wait(subprocess.Popen(lab_command(path, port=port, browser=browser, allow_root=allow_root)))


def wait(process: subprocess.Popen[bytes]) -> int:
    """Wait for the server, which handles Ctrl-C itself; ending this process ends the server."""

    def end(number: int, frame: FrameType | None) -> None:
        process.terminate()

    before = signal.signal(signal.SIGTERM, end)
    try:
        while True:
            try:
                return process.wait()
            except KeyboardInterrupt:
                continue
    finally:
        signal.signal(signal.SIGTERM, before)


def is_administrator() -> bool:
    """Whether this process runs as root (on systems that have it)."""
    return hasattr(os, "geteuid") and os.geteuid() == 0
