"""Lesson 6: the time of impact, and a check of gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .saying import not_yet, quiet, result, right, taped


def impact(run: Callable[[], None], start: Any, end: Any, pace: Any) -> None:
    """Exercise 6.1."""
    before = start[None], pace[None]
    found = []
    try:
        with quiet():
            for x, dt in [(0.43, 0.02), (0.43, 0.1), (0.271, 0.05), (0.837, 0.02)]:
                start[None], pace[None] = x, dt
                taped(end, run)
                found.append((end[None] - (1 - x), start.grad[None], dt))
    finally:
        start[None], pace[None] = before
    errors, slopes, paces = np.transpose(found)
    if np.allclose(errors, [0.43 - 1 + 0.43, 0.43 - 1 + 0.43, 0.271 - 1 + 0.271, 0.837 - 1 + 0.837]):
        not_yet("the ball stays where it was: move it by `dt * v` in each step.")
    if np.allclose(slopes, 1) and errors.max() < -0.1:
        not_yet("the ball flies through the wall: turn `v` round when `x` would become negative.")
    if np.allclose(slopes, 1) and errors.min() > 0:
        not_yet(
            "the ball is too far, and the gradient is +1: `x / v` is negative, and a time is not. Take -x /"
            " v."
        )
    if np.allclose(slopes, 1):
        not_yet(
            "the gradient is +1: a ball that starts higher ends higher. Nothing in your bounce depends on"
            " *when* it happens: use the time of impact, -x / v."
        )
    if np.allclose(slopes, 0):
        not_yet(
            "the gradient is 0: after the bounce the place does not depend on the start any more. What is"
            " left of the step is `dt - impact`, and the ball flies on during it."
        )
    if np.abs(errors).max() > 1e-9:
        worst = int(np.abs(errors).argmax())
        not_yet(
            f"with the time step {paces[worst]} the place is off by {errors[worst]:.4f}, and the gradient is"
            f" {slopes[worst]:.2f}. The ball flies for `impact` with the old speed, and for `dt - impact`"
            " with the new one."
        )
    if not np.allclose(slopes, -1):
        not_yet(f"the places are right, and the gradient is {slopes[0]:.4f} and not -1.")
    right("place and gradient are exact for every time step")


def _problem(scale: float) -> tuple[Callable[[np.ndarray], float], np.ndarray, np.ndarray, list[int]]:
    """A function, a point, the gradient there, and a list that grows with each call."""
    rng = np.random.default_rng(8)
    weights, x = scale * rng.uniform(0.5, 1.5, 1000), rng.uniform(-1, 1, 1000)
    calls: list[int] = []

    def f(x: np.ndarray) -> float:
        calls.append(1)
        return float(weights @ np.sin(x) + scale * 0.5 * x[:-1] @ x[1:])

    gradient = weights * np.cos(x)
    gradient[:-1] += scale * 0.5 * x[1:]
    gradient[1:] += scale * 0.5 * x[:-1]
    return f, x, gradient, calls


def disagreement(ask: Callable[..., float]) -> None:
    """Exercise 6.2."""
    f, x, gradient, calls = _problem(1.0)
    (found,) = result(ask, "disagreement", f, gradient.copy(), x.copy())
    if len(calls) > 10:
        not_yet(
            f"`f` is called {len(calls):,} times, and ten are allowed: do not ask for each number, ask along"
            " one direction."
        )
    if found < 0:
        not_yet(
            f"the disagreement of a right gradient is {found:.1e}: a negative number. Take its size, `abs`."
        )
    if not found < 1e-5:
        not_yet(
            f"a right gradient gets {found:.1e}. The differences are not exact enough: one point on either"
            " side, and a step about 1e-5."
        )
    _accepted(ask, f, x, gradient)
    for scale in (1e-9, 1e9):
        f, x, gradient, _ = _problem(scale)
        (fine,), (wrong,) = (
            result(ask, "disagreement", f, gradient, x),
            result(ask, "disagreement", f, 2 * gradient, x),
        )
        if not fine < 1e-5 < 1e-4 < wrong:
            not_yet(
                f"for a function that is {scale:.0e} times as large, the right gradient gets {fine:.1e} and"
                f" twice the right one {wrong:.1e}. Divide by the size of what you compare."
            )
    right("every wrong gradient is found, by two runs")


def _accepted(
    ask: Callable[..., float], f: Callable[[np.ndarray], float], x: np.ndarray, gradient: np.ndarray
) -> None:
    """Whether a wrong gradient is taken for right. A random direction may be unlucky, three are not."""

    def found(wrong: np.ndarray) -> bool:
        return max(ask(f, wrong, x) for _ in range(3)) > 1e-4

    if not found(2 * gradient):
        not_yet("twice the right gradient is taken for right.")
    most, least = int(gradient[1:].argmax()) + 1, int(gradient[1:].argmin()) + 1
    flipped, exchanged = gradient.copy(), gradient.copy()
    flipped[most] *= -1
    exchanged[[most, least]] = exchanged[[least, most]]
    if not found(flipped):
        not_yet(
            f"a gradient with one wrong number, at place {most}, is taken for right: the direction needs a"
            " part in each number."
        )
    if not found(exchanged):
        not_yet(
            "two numbers of the gradient are exchanged, and it is taken for right: along a direction with"
            " equal parts their errors cancel. Take a random one."
        )
