"""Gradients of whole programs against central differences along a random direction."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest

import dsim as ti


def assert_slope(
    run: Callable[[], object], loss, fields: Sequence, *, step: float = 1e-6, rel: float = 1e-6
) -> float:
    """Compares ``∑ gradient · direction`` with ``(loss(x + h·direction) − loss(x − h·direction)) / 2h``.

    `run` computes the loss from what is in `fields`, and sets up anew what it overwrites. Gives the slope.
    """
    rng = np.random.default_rng(0)
    start = [f.to_numpy() for f in fields]
    directions = [rng.standard_normal(s.shape) for s in start]

    def moved(h: float) -> float:
        for f, s, d in zip(fields, start, directions, strict=True):
            f.from_numpy(s + h * d)
        loss[None] = 0
        run()
        return loss[None]

    right = (moved(step) - moved(-step)) / (2 * step)
    moved(0.0)
    with ti.ad.Tape(loss):
        run()
    found = sum((f.grad.to_numpy() * d).sum() for f, d in zip(fields, directions, strict=True))
    assert found == pytest.approx(right, rel=rel)
    return found
