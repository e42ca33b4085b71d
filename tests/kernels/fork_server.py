"""Kernels of IPython as forks of a process that has imported what notebooks import.

A new interpreter takes a second of processor time to import IPython's kernel, dsim and matplotlib, and the
tests start more than a hundred kernels. Here one process imports them, and each kernel is a fork of it. What
Jupyter starts in place of a kernel is `client.py`, a small program that asks for a fork over a socket, hands
over its arguments, environment, folder and standard streams, passes signals on, and ends as the kernel does.
Where the client is killed, the kernel is.

    python fork_server.py SOCKET
"""

from __future__ import annotations

import array
import contextlib
import gc
import json
import os
import selectors
import signal
import socket
import sys
from typing import Any, NoReturn

_LARGEST = 1 << 20  # bytes of a request
_LOOKS = 2.0  # seconds between looks at the parent
_STREAMS = 3  # standard input, output and errors


def preload() -> None:
    """Imports what notebooks do. Nothing that looks for IPython's shell, which is not there yet."""
    import anywidget  # noqa: F401
    import ipykernel.kernelapp
    import ipykernel.zmqshell  # noqa: F401
    import ipywidgets  # noqa: F401
    import matplotlib.backends.backend_agg
    import matplotlib.figure  # noqa: F401

    import dsim.notebook  # noqa: F401


def run(request: dict[str, Any]) -> NoReturn:
    """Becomes the kernel that a client asks for."""
    import matplotlib as mpl
    from ipykernel import kernelapp

    os.environ.clear()
    os.environ.update(request["environment"])
    os.chdir(request["folder"])
    del sys.path[0]  # the folder of this file; the shell adds its own
    mpl.rcParams["backend"] = os.environ.get("MPLBACKEND", "module://matplotlib_inline.backend_inline")
    # Who starts a kernel tells it by a variable, which was read at the import: it ends with its parent.
    parent = f"--IPKernelApp.parent_handle={os.getppid()}"
    sys.argv = ["ipykernel_launcher", *request["arguments"], parent]
    kernelapp.launch_new_instance()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)


class Server:
    """Forks a kernel for each client.

    Parameters
    ----------
    listener : socket
        Where clients connect.
    """

    def __init__(self, listener: socket.socket) -> None:
        self._listener = listener
        self._selector = selectors.DefaultSelector()
        self._selector.register(listener, selectors.EVENT_READ, self._accept)
        # By the descriptor of its process: the process, and the client.
        self._kernels: dict[int, tuple[int, socket.socket]] = {}

    def serve(self) -> None:
        """Waits for clients, their signals, and the ends of kernels, as long as its parent is there."""
        parent = os.getppid()
        while os.getppid() == parent:
            for key, _ in self._selector.select(_LOOKS):
                if key.fd in self._selector.get_map():  # not gone with one before it
                    key.data()

    def _accept(self) -> None:
        client, _ = self._listener.accept()
        descriptors = array.array("i")
        size = descriptors.itemsize * _STREAMS
        text, extra, _, _ = client.recvmsg(_LARGEST, socket.CMSG_SPACE(size))
        for _, kind, data in extra:
            if kind == socket.SCM_RIGHTS:
                descriptors.frombytes(data[: len(data) - len(data) % descriptors.itemsize])
        while text and not text.endswith(b"\n"):
            text += client.recv(_LARGEST)
        if len(descriptors) != _STREAMS or not text:
            client.close()
            return
        pid = os.fork()
        if pid == 0:
            self._become(json.loads(text), list(descriptors))
        for d in descriptors:
            os.close(d)
        process = os.pidfd_open(pid)
        self._kernels[process] = pid, client
        self._selector.register(process, selectors.EVENT_READ, lambda: self._ended(process))
        self._selector.register(client, selectors.EVENT_READ, lambda: self._told(process))

    def _become(self, request: dict[str, Any], streams: list[int]) -> NoReturn:
        os.setsid()
        self._selector.close()
        self._listener.close()
        for process, (_, client) in self._kernels.items():
            os.close(process)
            client.close()
        for number, stream in enumerate(streams):
            os.dup2(stream, number)
            os.close(stream)
        try:
            run(request)
        except SystemExit as end:
            os._exit(end.code if isinstance(end.code, int) else int(end.code is not None))
        except BaseException:  # noqa: BLE001 (as the interpreter does)
            sys.excepthook(*sys.exc_info())
            os._exit(1)

    def _told(self, process: int) -> None:
        """Passes a signal on; kills the kernel if the client is gone."""
        pid, client = self._kernels[process]
        try:
            numbers = client.recv(64)
        except OSError:
            numbers = b""
        if not numbers:
            self._selector.unregister(client)
            os.killpg(pid, signal.SIGKILL)
        for number in numbers:
            os.kill(pid, number)

    def _ended(self, process: int) -> None:
        pid, client = self._kernels.pop(process)
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        self._selector.unregister(process)
        os.close(process)
        if client.fileno() in self._selector.get_map():
            self._selector.unregister(client)
        with client, contextlib.suppress(OSError):  # it may have been killed
            client.sendall(f"{code}\n".encode())


def main() -> None:
    """Serves until it is terminated, or its parent is gone; then kernels end by themselves, too."""
    preload()
    gc.collect()
    gc.freeze()  # kernels share the pages of what is there
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(sys.argv[1])
        listener.listen(16)
        Server(listener).serve()


if __name__ == "__main__":
    main()
