"""Stops running launches: Ctrl-C, and `stop_launch` from another thread.

While machine code runs, Python delays its own SIGINT handler, but not the C-level handler before it,
which writes a byte to the descriptor of `signal.set_wakeup_fd`. A listener thread reads the byte, finds the
launch that the main thread executes, on its Python stack, and sets the flag that the machine code polls. So a
launch registers nothing. The bytes are forwarded to the previous descriptor. The thread reads late, as it
must wait for the interpreter lock: a signal from before the launch, already handled by Python, must stop
nothing. So the system timestamps the bytes, and a launch records its start time.

`llvm/stops.py` emits the polls in machine code; `launch.py` raises the exception of a stopped launch.
"""

from __future__ import annotations

import contextlib
import gc
import os
import signal
import socket
import struct
import sys
import threading
import time
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any

from dsim.backends.llvm import frame
from dsim.diagnostics import ArgumentError, Diagnostic

# The file name of code that calls machine code with the frame in its local `held`: another thread finds a
# launch by it on the Python stack, so that launches themselves register nothing. Other functions that do so
# add their code to `LAUNCHES`, once, permanently.
LAUNCH = "<launch of machine code>"
LAUNCHES: set[CodeType] = set()
_AGAIN = (0.005, 0.05)  # seconds: sets the flag again, for a launch that was about to begin and cleared it
# Handlers of SIGINT (a process has one at a time) under which the first signal stops a launch; code that
# installs another one registers it by `stops`, permanently.
_STOPPING: list[Any] = [signal.default_int_handler]


def stops(handler: Callable[..., Any]) -> None:
    """Registers a handler of SIGINT under which the first signal stops a launch."""
    _STOPPING.append(handler)


def stopping(handler: Any) -> bool:
    """Whether the first SIGINT stops a launch under `handler`: ipykernel's own cancels an awaiting cell."""
    return handler in _STOPPING or getattr(handler, "__module__", None) == "ipykernel.ipkernel"


def stop_launch(thread: threading.Thread | None = None) -> bool:
    """Stops the launch that a thread executes: it raises `KeyboardInterrupt` there at its next poll.

    Only some of the launch's iterations have then run. Ctrl-C does the same to the main thread.

    Parameters
    ----------
    thread : Thread, optional
        The thread; the main thread by default.

    Returns
    -------
    bool
        Whether the thread executed a launch. If not, the call has no effect, on its next launch neither.

    Examples
    --------
    >>> import threading
    >>> import dsim as ds
    >>> n = ds.field(ds.i32, shape=())
    >>> @ds.kernel
    ... def forever():
    ...     while n[None] >= 0:
    ...         n[None] = 1 - n[None]
    >>> def work():
    ...     try:
    ...         forever()
    ...     except KeyboardInterrupt:
    ...         print("stopped")
    >>> thread = threading.Thread(target=work)
    >>> thread.start()
    >>> while thread.is_alive():
    ...     _ = ds.stop_launch(thread)
    stopped
    """
    if not isinstance(thread, threading.Thread | None):
        message = f"`stop_launch` takes a thread, not {type(thread).__name__}"
        raise ArgumentError(Diagnostic("argument", message, help="ds.stop_launch(threading.main_thread())"))
    ident = (thread or threading.main_thread()).ident
    return ident is not None and _stop(ident, asked=True)


def listen() -> None:
    """Starts to listen for Ctrl-C, in the main thread only. Costs microseconds."""
    if threading.current_thread() is threading.main_thread():
        with contextlib.suppress(ValueError):  # in a subinterpreter
            _LISTENER.listen()


def listen_in_cells(_: Any) -> None:
    """Listens for Ctrl-C in the next IPython cell: in a terminal its prompt resets the descriptor."""
    listen()


_STAMPED = getattr(socket, "SO_TIMESTAMPNS", 35) if sys.platform == "linux" else None
_TIME = struct.Struct("qq")  # seconds, nanoseconds


class _Listener:
    """The socket pair that receives signals, and the thread that reads it."""

    def __init__(self) -> None:
        self._ends: tuple[socket.socket, socket.socket] | None = None
        self._before = -1

    def listen(self) -> None:
        """Claims the wakeup descriptor."""
        if self._ends is None:
            self._ends = reads, writes = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
            if _STAMPED is not None:
                with contextlib.suppress(OSError):  # without timestamps: the time of reading is used
                    reads.setsockopt(socket.SOL_SOCKET, _STAMPED, 1)
            writes.setblocking(False)
            threading.Thread(target=self._read, args=(reads,), name="dsim stop", daemon=True).start()
        mine = self._ends[1].fileno()
        before = signal.set_wakeup_fd(mine, warn_on_full_buffer=False)
        if before != mine:
            self._before = before

    def forked(self) -> None:
        """In a forked child, which has no listener thread: creates its own."""
        if self._ends is None:
            return
        mine = signal.set_wakeup_fd(-1)
        others = mine not in (-1, self._ends[1].fileno())
        for end in self._ends:
            end.close()
        self._ends = None
        signal.set_wakeup_fd(mine if others else self._before)
        listen()

    def _read(self, end: socket.socket) -> None:
        while True:
            came, at = _received(end)
            if self._before >= 0:
                with contextlib.suppress(OSError):  # closed, or full and thus readable already
                    os.write(self._before, came)
            if signal.SIGINT in came:
                asked = stopping(signal.getsignal(signal.SIGINT))
                _stop(threading.main_thread().ident or 0, asked=asked, at=at)


def _received(end: socket.socket) -> tuple[bytes, int]:
    """The number of a signal, and its arrival time in nanoseconds of the wall clock."""
    came, told, *_ = end.recvmsg(1, socket.CMSG_SPACE(_TIME.size))
    for level, kind, data in told:
        if (level, kind) == (socket.SOL_SOCKET, _STAMPED):
            return came, _nanoseconds(*_TIME.unpack(data))
    return came, time.time_ns()


def _nanoseconds(seconds: int, more: int) -> int:
    return seconds * 10**9 + more


_LISTENER = _Listener()
os.register_at_fork(after_in_child=_LISTENER.forked)


def _stop(ident: int, *, asked: bool, at: int | None = None) -> bool:
    """Stops the launch that a thread executes, if `asked`, or if a signal for it was received before.

    ``at`` is the time of the signal: one from before the launch is ignored.
    """
    found = _running(ident)
    if found is None or _late(found, at):
        return False
    launch, slots = found
    slots[frame.INTERRUPTS] += 1
    if asked or slots[frame.INTERRUPTS] > 1:
        slots[frame.STOP] = 1
        for pause in _AGAIN:
            time.sleep(pause)
            now = _running(ident)
            if now is None or now[0] is not launch or slots[frame.STOP] or _late(now, at):
                break
            slots[frame.STOP] = 1
    return True


def _late(found: tuple[FrameType, Any], at: int | None) -> bool:
    """Whether the launch began after this time."""
    began = found[1][frame.BEGAN : frame.BEGAN + 2]
    return at is not None and _nanoseconds(*began) > at


def _running(ident: int) -> tuple[FrameType, Any] | None:
    """The Python frame of the launch that a thread executes, and the launch's own slots."""
    # Frames become objects here: in CPython 3.11 a garbage collection that this sets off may wait for a lock
    # that `_current_frames` has, or see frames that are half made.
    collects = gc.isenabled()
    gc.disable()
    try:
        at = sys._current_frames().get(ident)
        while at is not None and at.f_code.co_filename != LAUNCH and at.f_code not in LAUNCHES:
            at = at.f_back
    finally:
        if collects:
            gc.enable()
    held = None if at is None else at.f_locals.get("held")
    return None if at is None or held is None else (at, held.slots)
