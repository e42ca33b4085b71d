"""Lesson 8: what a controller's pushes cost, and whether it balances where it was not trained."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .saying import Mistake, explain, gradient_of, not_yet, right


def _attempt(w: np.ndarray, starts: np.ndarray, steps: int, dt: float, lines: str = "") -> float:
    angle, speed, cost = starts.copy(), np.zeros(len(starts)), 0.0
    for _ in range(steps):
        before = angle, speed
        signal = w[0] * angle + w[1] * speed
        push = 2 * signal if lines == "no limit" else 2 * np.tanh(signal)
        pull = -np.sin(angle) if lines == "hangs" else np.sin(angle)
        speed = speed + dt * (pull + push)
        angle = angle + dt * (before[1] if lines == "old speed" else speed)
        seen = before if lines == "early" else (angle, speed)
        terms = seen[0] ** 2 + 0.1 * seen[1] ** 2 + (0.0 if lines == "free" else 0.01) * push**2
        share = dt * (terms.sum() if lines == "sum" else terms.mean())
        cost = share if lines == "last" else cost + share
    return float(cost)


_ATTEMPT = {
    "no limit": "the push has no limit: it is 2 tanh(…).",
    "hangs": "this pole hangs: the force sin(angle) drives it *away* from upright, so it is positive.",
    "old speed": "the angle moves with the old speed: first the speed, then the angle with the new one.",
    "early": "the cost is that of the state before the step: add it after the angle has moved.",
    "free": "pushes are free: 0.01 push² is missing from the cost.",
    "sum": "the cost is 16 times too large: it is the mean over the starts, divide by `count`.",
    "last": "only the end of a run counts: add the cost of each step.",
}


def attempt(run: Callable[[], None], starts: Any, w: Any, cost: Any, steps: int, dt: float) -> None:
    """Exercise 8.1."""
    before = starts.to_numpy()
    angles = np.random.default_rng(10).uniform(-1, 1, len(before))
    points = [np.array(p) for p in ((-3.0, -2.0), (-1.5, -0.5), (-2.0, 0.0))]
    starts.from_numpy(angles)
    try:
        found = [gradient_of(run, w, cost, at) for at in points]
    finally:
        starts.from_numpy(before)
    costs = [value for value, _ in found]
    if not any(costs):
        not_yet("the cost is 0: move the pole, and add the cost of each step to `cost[None]`.")

    def lines(kind: str) -> Callable[[np.ndarray], float]:
        return lambda at: _attempt(at, angles, steps, dt, kind)

    if not np.allclose(costs, [lines("")(at) for at in points], rtol=1e-7):
        explain(costs, [(at,) for at in points], [Mistake(lines(k), said) for k, said in _ATTEMPT.items()])
        if abs(costs[0]) < 0.3 * lines("")(points[0]):
            not_yet(
                f"the cost with the weights {points[0].tolist()} is {costs[0]:.6f}, much less than that of"
                " sixteen poles: does `=` overwrite what the others cost?"
            )
        not_yet(
            f"with the weights {points[0].tolist()} the cost is {costs[0]:.6f}, and the pole of the text has"
            f" {lines('')(points[0]):.6f}."
        )
    h = 1e-5
    for at, (_, gradient) in zip(points, found, strict=True):
        slopes = [(lines("")(at + d) - lines("")(at - d)) / (2 * h) for d in h * np.eye(2)]
        if not np.allclose(gradient, slopes, rtol=1e-5, atol=1e-8):
            not_yet(f"the cost is right, its gradient is {gradient.tolist()}, and differences say {slopes}.")
    right("the cost and its gradient, for other angles too")


def _angles(w: np.ndarray, starts: np.ndarray, steps: int, dt: float) -> np.ndarray:
    """The angles of poles after each step."""
    angle, speed, angles = starts, np.zeros(len(starts)), []
    for _ in range(steps):
        speed = speed + dt * (np.sin(angle) + 2 * np.tanh(w[0] * angle + w[1] * speed))
        angle = angle + dt * speed
        angles.append(angle)
    return np.array(angles)


def train(learn: Callable[[], Any], w: Any, starts: Any, steps: int, dt: float) -> None:
    """Exercise 8.2."""
    w.fill(0.0)
    learn()
    weights = w.to_numpy()
    if not weights.any():
        not_yet(
            "the weights are 0 as before: `ds.optimize` changes the fields of `wrt=`, if the cost depends"
            " on them. A pole that begins upright never needs a push."
        )
    if not np.isfinite(weights).all():
        not_yet(f"the weights are {weights.tolist()}: the rate is too large.")
    near = _angles(weights, np.linspace(-0.05, 0.05, 10), 3 * steps, dt)
    far = _angles(weights, np.random.default_rng(11).uniform(-1.2, 1.2, 100), 3 * steps, dt)
    told = f"With the weights {weights.round(2).tolist()} the pole"
    if weights[0] >= 0:
        not_yet(f"{told} is pushed in the direction in which it falls: the cost must fall, not rise.")
    if np.abs(near[-1]).max() > 1:
        not_yet(f"{told} falls, even from 0.05: the pushes are too weak. Too few steps, too small a rate?")
    if weights[1] >= 0:
        not_yet(
            f"{told} swings without end: a push that does not see the speed cannot slow it down. Both"
            " weights have to be found."
        )
    rest = np.abs(far[-1]).max()
    if rest > 0.01:
        not_yet(f"{told} is still {rest:.2f} away from the upright position at the end: train it to the end.")
    angles = starts.to_numpy()
    cost = _attempt(weights, angles, steps, dt)
    others = [weights * factors for factors in ((0.9, 1), (1.1, 1), (1, 0.9), (1, 1.1))]
    least = min(_attempt(other, angles, steps, dt) for other in others)
    if least < 0.99 * cost:
        not_yet(
            f"{told} stands at a cost of {cost:.3f}; with a tenth more or less of one weight it is"
            f" {least:.3f}. The search has ended too early, or it was made for other angles."
        )
    right("at rest from a hundred angles that it has not seen")
