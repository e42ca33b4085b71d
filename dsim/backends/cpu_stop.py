"""Stops launches that are under way: Ctrl-C, and `stop_launch` from another thread.

While machine code runs, Python's own handler of SIGINT has to wait, but not the C function in front of it,
which writes a byte to the descriptor of `signal.set_wakeup_fd`. A thread reads there, finds the launch that
the main thread is in, on its Python stack, and sets the flag that the machine code asks for. So a launch does
nothing to be found. Who had that descriptor before gets the bytes, too.

Not its job: where machine code asks (`llvm_stops`), and what a stopped launch raises (`cpu_launch`).
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any

from dsim.backends import llvm_frame as frame

LAUNCHES: set[CodeType] = set()  # functions that call machine code, on the frame in their local `held`
_AGAIN = (0.005, 0.05)  # seconds: the flag of a launch that was just about to begin is cleared once more
_STOPPING: list[Any] = [signal.default_int_handler]


def stops(handler: Callable[..., Any]) -> None:
    """Under this handler of SIGINT, too, the first one stops a launch."""
    _STOPPING.append(handler)


def stop_launch(thread: threading.Thread | None = None) -> bool:
    """Stops the launch that a thread is in: it raises `KeyboardInterrupt` there, soon.

    Some of the launch's iterations are done then, others are not. Ctrl-C does the same to the main thread.

    Parameters
    ----------
    thread : Thread, optional
        Which one; the main thread if it is not given.

    Returns
    -------
    bool
        Whether the thread was in a launch. If not, nothing happens to it, and not to its next launch either.

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
    ident = (thread or threading.main_thread()).ident
    return ident is not None and _stop(ident, asked=True)


def stop_own() -> None:
    """Stops the launch that the calling thread is in, from a function that machine code calls."""
    running = _running(threading.get_ident())
    if running is not None:
        running[1][frame.STOP] = 1


def listen() -> None:
    """Hears Ctrl-C from now on; of threads only the main one may ask for that. Costs a microsecond."""
    if threading.current_thread() is threading.main_thread():
        with contextlib.suppress(ValueError):  # in another interpreter than the first
            _LISTENER.listen()


class _Listener:
    """The pipe to which signals write, and the thread that reads there."""

    def __init__(self) -> None:
        self._pipe: tuple[int, int] | None = None
        self._before = -1

    def listen(self) -> None:
        """Takes the place of who listens now."""
        if self._pipe is None:
            self._pipe = os.pipe()
            os.set_blocking(self._pipe[1], False)
            threading.Thread(target=self._read, args=(self._pipe[0],), name="dsim stop", daemon=True).start()
        before = signal.set_wakeup_fd(self._pipe[1], warn_on_full_buffer=False)
        if before != self._pipe[1]:
            self._before = before

    def forked(self) -> None:
        """In a child, which has the pipe and not the thread: makes its own."""
        if self._pipe is None:
            return
        mine = signal.set_wakeup_fd(-1)
        others = mine not in (-1, self._pipe[1])
        for end in self._pipe:
            os.close(end)
        self._pipe = None
        signal.set_wakeup_fd(mine if others else self._before)
        listen()

    def _read(self, end: int) -> None:
        while True:
            came = os.read(end, 1024)
            if self._before >= 0:
                with contextlib.suppress(OSError):  # it is closed, or full: then it has something to read
                    os.write(self._before, came)
            if signal.SIGINT in came:
                _stop(threading.main_thread().ident or 0, asked=signal.getsignal(signal.SIGINT) in _STOPPING)


_LISTENER = _Listener()
os.register_at_fork(after_in_child=_LISTENER.forked)


def _stop(ident: int, *, asked: bool) -> bool:
    """Stops the launch that a thread is in, if it is `asked` to, or was told of a signal before."""
    found = _running(ident)
    if found is None:
        return False
    launch, slots = found
    slots[frame.INTERRUPTS] += 1
    if asked or slots[frame.INTERRUPTS] > 1:
        slots[frame.STOP] = 1
        for pause in _AGAIN:
            time.sleep(pause)
            now = _running(ident)
            if now is None or now[0] is not launch or slots[frame.STOP]:
                break
            slots[frame.STOP] = 1
    return True


def _running(ident: int) -> tuple[FrameType, Any] | None:
    """The Python frame of the launch that a thread is in, and the slots of the launch's own."""
    at = sys._current_frames().get(ident)
    while at is not None and at.f_code not in LAUNCHES:
        at = at.f_back
    held = None if at is None else at.f_locals.get("held")
    return None if at is None or held is None else (at, held.slots)
