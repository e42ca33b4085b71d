"""Lesson 3: a gather turned round, and particles that give their mass to a grid."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .saying import not_yet, quiet, result, right, taped


def _drift(x: np.ndarray) -> np.ndarray:
    return 0.75 * x + 0.25 * np.concatenate([x[:1], x[:-1]])


def _overwritten(y_bar: np.ndarray) -> np.ndarray:
    """The way back with `=`: the last iteration that writes an element wins."""
    x_bar = np.zeros(len(y_bar))
    for i, value in enumerate(y_bar):
        x_bar[i] = 0.75 * value
        x_bar[max(i - 1, 0)] = 0.25 * value
    return x_bar


def scatter(back: Callable[[np.ndarray], np.ndarray]) -> None:
    """Exercise 3.1."""
    x, y_bar = np.random.default_rng(3).standard_normal((2, 9))
    x_bar = result(back, "drift_back", y_bar.copy(), count=9)
    if not x_bar.any():
        not_yet("all adjoints stay 0: each `y_bar[i]` has to be added to the elements that line `i` read.")
    forwards = float(y_bar @ _drift(x))
    if np.isclose(x_bar @ x, forwards):
        return right(f"dot test: {forwards:.6f} forwards and backwards")
    if np.allclose(x_bar, _drift(y_bar)):
        not_yet(
            "this is `drift` itself, applied to `y_bar`: it reads from the left, as the values do."
            " Backwards the arrows turn round: `y_bar[i]` goes to `x_bar[i]` and to `x_bar[i - 1]`."
        )
    if np.allclose(x_bar, _overwritten(y_bar)):
        not_yet(
            "`x_bar[i]` is read by two iterations, and one of the shares is overwritten: add them up with"
            " `+=`."
        )
    wrapped = 0.75 * y_bar + 0.25 * np.roll(y_bar, -1)
    if np.allclose(x_bar, wrapped):
        not_yet(
            "the share of iteration 0 has gone round to the *last* element: in Python index -1 is the last"
            " one. Forwards, iteration 0 reads `x[0]` twice."
        )
    wrapped[-1] -= 0.25 * y_bar[0]
    if np.allclose(x_bar, wrapped):
        not_yet("at the edge a share is missing: iteration 0 reads `x[0]` twice, with 0.75 and with 0.25.")
    not_yet(
        f"dot test: y_bar · drift(x) is {forwards:.6f}, and drift_back(y_bar) · x is {x_bar @ x:.6f}. They"
        " must be equal for all vectors."
    )


def deposit(run: Callable[[], None], weigh: Callable[[], None], q: Any, mass: Any, moment: Any) -> None:
    """Exercise 3.2."""
    before = q.to_numpy(), mass.to_numpy()
    try:
        with quiet():
            _deposit(run, weigh, q, mass, moment)
    finally:
        q.from_numpy(before[0])
        mass.from_numpy(before[1])


def _deposit(run: Callable[[], None], weigh: Callable[[], None], q: Any, mass: Any, moment: Any) -> None:
    count, points = q.shape[0], mass.shape[0]
    at = np.random.default_rng(5).uniform(1.0, points - 2.0, count)
    q.from_numpy(at)
    mass.fill(0.0)
    taped(moment, lambda: (run(), weigh()))
    found = mass.to_numpy()
    if not found.any():
        not_yet("the grid is empty: add to `mass[j]` and `mass[j + 1]`.")
    if found.max() <= 1 < count / points:
        not_yet(
            f"{count} particles have given {found.sum():.2f}: many share a grid point, and `=` keeps the"
            " mass of the last one. Add with `+=`."
        )
    if not np.isclose(found.sum(), count):
        not_yet(
            f"{count} particles with a mass of 1 have given {found.sum():.4f}: the two weights must add up"
            " to 1."
        )
    cell = np.floor(at)
    if np.isclose(moment[None], cell.sum()) or np.isclose(moment[None], np.round(at).sum()):
        not_yet(
            "each particle gives all its mass to one point: when it moves, nothing changes until it jumps"
            f" to the next one. The gradient is {q.grad.to_numpy().mean():.1f}, and the centre of mass"
            " moves."
        )
    if np.isclose(moment[None], (2 * cell + 1 - at).sum()):
        not_yet("the weights are exchanged: a particle close to `j` must give most of its mass to `j`.")
    if not np.isclose(moment[None], at.sum()):
        not_yet(
            f"the particles' moment is {at.sum():.4f}, that of the grid {moment[None]:.4f}: the centre of"
            " mass has moved."
        )
    if not np.allclose(q.grad.to_numpy(), 1.0):
        not_yet("the centre of mass is right, and its derivative by `q` is not 1: is a weight rounded?")
    right("no mass is lost, and the centre of mass follows each particle")
