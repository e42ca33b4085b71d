"""All pairs of bodies by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import prange

from tests.bench.by_hand.compiled import parallel
from tests.bench.cases.fields import random


@parallel
def _energy(x: Any) -> Any:
    n, total = len(x), np.float32(0)
    for i in prange(n):
        own, px, py = np.float32(0), x[i, 0], x[i, 1]
        for j in range(n):
            dx, dy = px - x[j, 0], py - x[j, 1]
            own -= np.float32(1) / np.sqrt(dx * dx + dy * dy + np.float32(1e-3))
        total += own
    return total


@parallel
def _gradient(x: Any, bar: Any) -> Any:
    n, total = len(x), np.float32(0)
    for i in prange(n):
        own, px, py = np.float32(0), x[i, 0], x[i, 1]
        bx, by = np.float32(0), np.float32(0)
        for j in range(n):
            dx, dy = px - x[j, 0], py - x[j, 1]
            inverse = np.float32(1) / np.sqrt(dx * dx + dy * dy + np.float32(1e-3))
            own -= inverse
            cubed = np.float32(2) * inverse * inverse * inverse
            bx += cubed * dx
            by += cubed * dy
        total += own
        bar[i, 0], bar[i, 1] = bx, by
    return total


def gravity(bodies: int = 2048) -> Any:
    x = random(bodies, 2).astype(np.float32)
    bar = np.zeros_like(x)
    return lambda: _energy(x), lambda: (_gradient(x, bar), bar)
