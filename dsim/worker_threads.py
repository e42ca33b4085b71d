"""Threads that do what is given to them, and end when there is nothing to do.

An executor of `concurrent.futures` takes a lock of that module's whenever it is given something. A fork takes
it, too, before the compile lock, which who gives something here holds: both would wait for ever.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any


class WorkerThreads:
    """At most `count` threads.

    Parameters
    ----------
    count : int
        How many there are while there is something to do.
    """

    def __init__(self, count: int) -> None:
        self._count = count
        self._lock = threading.Lock()
        self._given: deque[tuple[Future[Any], Callable[[], Any]]] = deque()
        self._alive: set[threading.Thread] = set()

    def submit(self, function: Callable[..., Any], *args: Any) -> Future[Any]:
        """Calls `function` on one of the threads, as soon as it is free."""
        future: Future[Any] = Future()
        with self._lock:
            self._given.append((future, lambda: function(*args)))
            if len(self._alive) < self._count:
                self._begin()
        return future

    def close(self) -> None:
        """Cancels what has not begun, and waits for the rest."""
        with self._lock:
            alive = list(self._alive)
            self._cancel()
        for thread in alive:
            if thread.ident is not None:  # it began: Ctrl-C did not come before
                thread.join()

    def _begin(self) -> None:
        thread = threading.Thread(target=self._work, name="dsim-compiler")
        self._alive.add(thread)
        try:
            thread.start()
        except RuntimeError:  # the system gives no thread: who needs a kernel compiles it
            self._alive.discard(thread)
            if not self._alive:
                self._cancel()

    def _cancel(self) -> None:
        for future, _ in self._given:
            future.cancel()
        self._given.clear()

    def _work(self) -> None:
        while True:
            with self._lock:
                if not self._given:
                    self._alive.discard(threading.current_thread())
                    return
                future, function = self._given.popleft()
            if future.set_running_or_notify_cancel():
                try:
                    future.set_result(function())
                except BaseException as error:  # noqa: BLE001 (who waits for it gets it)
                    future.set_exception(error)
