"""Threads on which LLVM translates kernels that will be launched, while their caller goes on."""

from __future__ import annotations

import os
import threading
from concurrent.futures import Future, wait
from weakref import WeakSet

import numpy as np

from dsim.backends.cpu import first_touch, images
from dsim.backends.cpu.compiled import CompiledKernel
from dsim.backends.cpu.disk_cache import DiskCache, disk_cache
from dsim.backends.cpu.runtime import runtime
from dsim.backends.locks import before_fork
from dsim.worker_threads import WorkerThreads


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
        self._threads = WorkerThreads(count)
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
