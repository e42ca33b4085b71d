"""One thread for the vectors of an optimiser: OpenBLAS gives long ones to all cores.

The norm of 24,200 numbers takes 3 µs on one thread, and 1 ms on two that share their cores with other work,
since each waits for the other. A step of L-BFGS-B makes a hundred such products.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Protocol

from threadpoolctl import ThreadpoolController


class Library(Protocol):
    """A BLAS whose number of threads can be set."""

    def get_num_threads(self) -> int | None:
        """The number of its threads."""
        ...

    def set_num_threads(self, num_threads: int) -> object:
        """Gives it another one."""
        ...


def libraries() -> Sequence[Library]:
    """Those that this process has loaded: NumPy's and SciPy's."""
    return ThreadpoolController().select(user_api="blas").lib_controllers


class BlasThreads:
    """Blocks in which libraries have one thread; several threads of Python may be in such blocks.

    Parameters
    ----------
    libraries : callable
        Returns the libraries; called once, when the first block begins.
    """

    def __init__(self, libraries: Callable[[], Sequence[Library]]) -> None:
        self._libraries = cache(libraries)
        self._before: list[tuple[Library, int]] = []
        self._inside = 0
        self._lock = threading.Lock()

    @contextmanager
    def single(self) -> Iterator[None]:
        """One thread, until the last of such blocks ends."""
        self._enter()
        try:
            yield
        finally:
            self._leave()

    @contextmanager
    def lifted(self) -> Iterator[None]:
        """As many as before, inside of a `single` block."""
        self._leave()
        try:
            yield
        finally:
            self._enter()

    def _enter(self) -> None:
        with self._lock:
            self._inside += 1
            if self._inside == 1:
                self._before = [(each, each.get_num_threads() or 1) for each in self._libraries()]
                for library, _ in self._before:
                    library.set_num_threads(1)

    def _leave(self) -> None:
        with self._lock:
            self._inside -= 1
            if self._inside == 0:
                for library, count in self._before:
                    library.set_num_threads(count)


BLAS_THREADS = BlasThreads(libraries)
