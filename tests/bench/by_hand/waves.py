"""The wave equation by hand; its adjoint gathers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import prange

from tests.bench.by_hand.compiled import inlined, parallel
from tests.bench.cases.fields import random
from tests.bench.cases.grids import bump


@parallel
def _step(u: Any, t: int) -> None:
    n = u.shape[1]
    a, b = np.float32(1.2), np.float32(0.2)
    for i in prange(1, n - 1):
        for j in range(1, n - 1):
            around = u[t - 1, i - 1, j] + u[t - 1, i + 1, j] + u[t - 1, i, j - 1] + u[t - 1, i, j + 1]
            u[t, i, j] = a * u[t - 1, i, j] - u[t - 2, i, j] + b * around


@inlined
def _at_edge(bar: Any, t: int, i: int, j: int) -> None:
    """The adjoint where a neighbour is no result of a step."""
    n = bar.shape[1]
    inside = 0 < i < n - 1 and 0 < j < n - 1
    total = np.float32(0)
    if inside:
        total += np.float32(1.2) * bar[t, i, j]
        bar[t - 2, i, j] -= bar[t, i, j]
    if 0 < j < n - 1:
        if i >= 2:
            total += np.float32(0.2) * bar[t, i - 1, j]
        if i < n - 2:
            total += np.float32(0.2) * bar[t, i + 1, j]
    if 0 < i < n - 1:
        if j >= 2:
            total += np.float32(0.2) * bar[t, i, j - 1]
        if j < n - 2:
            total += np.float32(0.2) * bar[t, i, j + 1]
    bar[t - 1, i, j] += total


@parallel
def _back(bar: Any, t: int) -> None:
    n = bar.shape[1]
    a, b = np.float32(1.2), np.float32(0.2)
    for i in prange(n):
        if 2 <= i < n - 2:
            for j in range(2):
                _at_edge(bar, t, i, j)
            for j in range(2, n - 2):
                around = bar[t, i - 1, j] + bar[t, i + 1, j] + bar[t, i, j - 1] + bar[t, i, j + 1]
                bar[t - 1, i, j] += a * bar[t, i, j] + b * around
                bar[t - 2, i, j] -= bar[t, i, j]
            for j in range(n - 2, n):
                _at_edge(bar, t, i, j)
        else:
            for j in range(n):
                _at_edge(bar, t, i, j)


@parallel
def _misfit(last: Any, goal: Any) -> Any:
    n, total = len(last), np.float32(0)
    for i in prange(n):
        for j in range(n):
            total += (last[i, j] - goal[i, j]) ** 2
    return total / np.float32(n * n)


def wave(n: int = 256, steps: int = 256) -> Any:
    u, bar = np.zeros((steps, n, n), np.float32), np.zeros((steps, n, n), np.float32)
    u[:2] = bump(n)
    goal = random(n, n).astype(np.float32)

    def primal() -> float:
        for t in range(2, steps):
            _step(u, t)
        return _misfit(u[-1], goal)

    def gradient() -> tuple[float, np.ndarray]:
        loss = primal()
        bar[:-1] = 0
        bar[-1] = (u[-1] - goal) * np.float32(2 / n**2)
        for t in range(steps - 1, 1, -1):
            _back(bar, t)
        return loss, bar[:2]  # of what the waves begin from

    return primal, gradient
