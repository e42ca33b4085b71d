"""Threads on which LLVM translates kernels that will be launched, while their caller goes on."""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, wait
from typing import Any
from weakref import WeakSet

import numpy as np

from dsim.backends.cpu import first_touch, images
from dsim.backends.cpu.compiled import CompiledKernel
from dsim.backends.cpu.disk_cache import DiskCache, disk_cache
from dsim.backends.cpu.runtime import runtime
from dsim.backends.locks import before_fork


class CompilerThreads:
    """Threads that compile, until they are closed.

    The caller emits LLVM IR of one kernel after the other, and a thread makes the object file of each. Equal
    texts share one. Whoever launches a kernel waits for its object file, or makes it, if no thread has begun.

    Parameters
    ----------
    count : int
        How many there are.
    """

    def __init__(self, count: int) -> None:
        images.prepare()
        self._threads = _Threads(count)
        self._cache = disk_cache()
        self._process = os.getpid()
        self._given: list[CompiledKernel] = []
        self._begun: dict[tuple[str, int], Future[bytes]] = {}
        self._stopped = threading.Event()
        _OPEN.add(self)

    def begin(self, kernel: CompiledKernel) -> None:
        """Begins to compile `kernel`; in a child of `os.fork`, where its threads are gone, does nothing."""
        if self._process == os.getpid():
            self._given.append(kernel)
            kernel.begin(self._image)

    def touch(self, memory: np.ndarray) -> None:
        """Begins to have the system give all pages of `memory`; `close` ends that."""
        if self._process == os.getpid():
            self._threads.submit(_touch, memory, self._stopped)

    def close(self) -> None:
        """Ends the threads. What they have not begun compiles at its first launch."""
        for kernel in self._given:  # first: a second Ctrl-C may come while the threads end
            kernel.forget_begun()
        self._given.clear()
        self._stopped.set()
        if self._process == os.getpid():
            self._threads.close()

    def wait(self) -> None:
        """Waits until all that was begun is done."""
        wait(list(self._begun.values()))

    def _image(self, text: str, level: int) -> Future[bytes]:
        if (text, level) not in self._begun:
            self._begun[text, level] = self._threads.submit(_made, text, level, self._cache)
        return self._begun[text, level]


class _Threads:
    """At most `count` threads, which end when there is nothing to do.

    An executor of `concurrent.futures` takes a lock of that module's whenever it is given something. A fork
    takes it, too, before the compile lock, which who gives something here holds: both would wait for ever.
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


def _made(text: str, level: int, cache: DiskCache) -> bytes:
    with runtime().lent():
        try:
            return images.found(text, level, cache)
        finally:
            images.forget_targets()  # before a fork, which waits for this, goes on


def _touch(memory: np.ndarray, stopped: threading.Event) -> None:
    with runtime().lent():
        first_touch.touch(memory, stopped)


_OPEN: WeakSet[CompilerThreads] = WeakSet()


def _wait_for_all() -> None:
    for threads in list(_OPEN):
        threads.wait()


before_fork(_wait_for_all)  # a child has no such threads, and would wait for them for ever
