"""How long something takes."""

from __future__ import annotations

import time
from collections.abc import Callable


def best(f: Callable[[], object], seconds: float = 1.0) -> float:
    """The shortest of several runs, in seconds; they take a second at the least."""
    times: list[float] = []
    began = time.perf_counter()
    while len(times) < 3 or time.perf_counter() - began < seconds:
        t = time.perf_counter()
        f()
        times.append(time.perf_counter() - t)
    return min(times)


def fastest(*functions: Callable[[], object], seconds: float = 2.0) -> list[float]:
    """The shortest runs of each, which take turns."""
    times = [float("inf")] * len(functions)
    began, rounds = time.perf_counter(), 0
    while rounds < 3 or time.perf_counter() - began < seconds:
        for n, f in enumerate(functions):
            t = time.perf_counter()
            f()
            times[n] = min(times[n], time.perf_counter() - t)
        rounds += 1
    return times
