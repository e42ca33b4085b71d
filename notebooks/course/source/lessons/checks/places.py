"""Lesson 4: a run that overwrites nothing, and one whose gradient is right the second time, too."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .saying import not_yet, right, taped


def _grown(start: np.ndarray, seasons: int) -> tuple[np.ndarray, np.ndarray]:
    """The populations after so many seasons, and their derivatives, carried along."""
    p, p_dot = start, np.ones_like(start)
    for _ in range(seasons):
        p, p_dot = 3.2 * p * (1 - p), 3.2 * (1 - 2 * p) * p_dot
    return p, p_dot


def rows(year: Callable[[], None], field: Any, last: Any) -> None:
    """Exercise 4.1."""
    seasons, n = field.shape[0] - 1, field.shape[1]
    start = np.random.default_rng(6).uniform(0.2, 0.8, n)
    field.from_numpy(np.vstack([start, np.zeros((seasons, n))]))
    saved, losses = [], []
    for _ in range(2):
        saved.append(taped(last, year).saved_bytes)
        losses.append(last[None])
        gradient = field.grad.to_numpy()[0]
    found = field.to_numpy()
    if not np.array_equal(found[0], start):
        not_yet("row 0 has changed: `rows[t, i]` is overwritten. Read from row `t`, write to row `t + 1`.")
    if not found[1:].any():
        not_yet("all rows after the first are 0: write to `rows[t + 1, i]`.")
    if not np.isclose(losses[0], losses[1]):
        not_yet(
            f"the first run gives {losses[0]:.4f} and the second {losses[1]:.4f}: the result depends on what"
            " was in row `t + 1` before. Read only from row `t`, and write with `=`."
        )
    p, p_dot = _grown(start, seasons)
    if seasons > 1 and np.allclose(found[1], found[seasons]):
        not_yet("all rows are the same: each is computed from row 0. Read row `t`, the one before.")
    if not np.allclose(found[seasons], p):
        not_yet(
            f"after {seasons} seasons the first population is {found[seasons, 0]:.6f}, and in place it was"
            f" {p[0]:.6f}."
        )
    if saved[0]:
        not_yet(
            f"the values are right, and the tape has still saved {saved[0]:,} bytes: an element is written"
            " twice. Compute it in one line, from row `t` alone."
        )
    if not np.allclose(gradient, p_dot, atol=1e-12):
        not_yet(
            "the values are right, and the gradient is not that of the run: does all of it pass through"
            " kernels?"
        )
    right("the same populations and gradient, and nothing saved")


def again(run: Callable[[], None], p: Any, mean: Any, spread: Any) -> None:
    """Exercise 4.2."""
    before = p.to_numpy()
    n = len(before)
    at = np.random.default_rng(7).uniform(0.2, 0.8, n) ** 3
    try:
        p.from_numpy(at)
        losses = []
        for _ in range(2):
            mean[None] = 0.0 if not losses else mean[None] + 0.25  # what another program may leave there
            taped(spread, run)
            losses.append(spread[None])
            gradient = p.grad.to_numpy()
    finally:
        p.from_numpy(before)
    if not losses[0]:
        not_yet("the loss is 0: `uneven` has to call both kernels.")
    far = at - at.mean()
    if np.isclose(losses[0], (at**4).sum()):
        not_yet("the distances are those from 0: `add_mean` has to run, and before `add_spread`.")
    if not np.isclose(losses[0], (far**4).sum()):
        not_yet(
            f"the first run gives {losses[0]:.6f}, and it should be {(far**4).sum():.6f}: is the mean added"
            " up once?"
        )
    if not np.isclose(losses[0], losses[1]):
        not_yet(
            f"the first run gives {losses[0]:.6f}, and the second {losses[1]:.6f}: `mean` begins with what"
            " an earlier program left there. Set it to 0 first."
        )
    if not np.isclose(gradient.sum(), 0.0, atol=1e-10):
        not_yet(
            f"the loss is right, and the gradient adds up to {gradient.sum():.4f} and not to 0. The way"
            " through the mean is missing: what NumPy or Python computes is a constant to a tape."
        )
    right("the loss and its gradient are right every time")
