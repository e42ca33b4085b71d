"""One thread for the vectors of an optimiser: OpenBLAS gives long ones to all cores.

The norm of 24,200 numbers takes 3 µs on one thread, and 1 ms on two that share their cores with other work,
since each waits for the other. A step of L-BFGS-B makes a hundred such products.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import numpy as np
import scipy


class Library(NamedTuple):
    """A BLAS whose number of threads can be set.

    Attributes
    ----------
    get : callable
        Returns the number of its threads.
    set : callable
        Gives it another one.
    """

    get: Callable[[], int]
    set: Callable[[int], object]


def libraries() -> list[Library]:
    """Those of NumPy and SciPy, as their wheels bring them; none where they use another BLAS."""
    found: list[Library] = []
    for package in (np, scipy):
        for installed in package.__path__:
            libs = Path(installed).with_name(f"{package.__name__}.libs")
            for path in sorted(libs.glob("*openblas*")):
                found.extend(_opened(path))
    return found


def _opened(path: Path) -> Iterator[Library]:
    try:
        library = ctypes.CDLL(str(path))  # the same that is loaded already
    except OSError:
        return
    for suffix in ("64_", ""):
        names = [f"scipy_openblas_{verb}_num_threads{suffix}" for verb in ("get", "set")]
        if all(hasattr(library, name) for name in names):
            yield Library(*(getattr(library, name) for name in names))
            return


class BlasThreads:
    """Blocks in which libraries have one thread; several threads of Python may be in such blocks.

    Parameters
    ----------
    libraries : sequence of Library
        The libraries.
    """

    def __init__(self, libraries: Sequence[Library]) -> None:
        self._libraries = libraries
        self._before: list[int] = []
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
                self._before = [library.get() for library in self._libraries]
                for library in self._libraries:
                    library.set(1)

    def _leave(self) -> None:
        with self._lock:
            self._inside -= 1
            if self._inside == 0:
                for library, count in zip(self._libraries, self._before, strict=True):
                    library.set(count)


BLAS_THREADS = BlasThreads(libraries())
