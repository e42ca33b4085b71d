"""Helpers for host programs; kernels do not use them."""

from __future__ import annotations

import time
from typing import Self


class Timer:
    """Times a `with` block in seconds: ``with Timer() as t: …``, then ``t.seconds``."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._began = 0.0

    def __enter__(self) -> Self:
        self._began = time.perf_counter()
        return self

    def __exit__(self, *_: object) -> None:
        self.seconds = time.perf_counter() - self._began


__all__ = ["Timer"]
