"""Helpers around programs; nothing that a kernel needs."""

from __future__ import annotations

import time
from typing import Self


class Timer:
    """Seconds of a `with` block: ``with Timer() as t: …`` and then ``t.seconds``."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._began = 0.0

    def __enter__(self) -> Self:
        self._began = time.perf_counter()
        return self

    def __exit__(self, *_: object) -> None:
        self.seconds = time.perf_counter() - self._began


__all__ = ["Timer"]
