"""Lesson 7: the misfit of a simulation, and Newton's method."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from .saying import Mistake, explain, gradient_of, not_yet, result, right

_CALLS = 100
_PARABOLA = "a parabola"


def _misfit(theta: np.ndarray, data: np.ndarray, dt: float, lines: str = "") -> float:
    stiffness, friction = theta
    friction = {"no friction": 0.0, "pushes": -friction}.get(lines, friction)
    x, v, loss = 1.0, 0.0, 0.0
    for seen in data:
        before, old = x, v
        v += dt * (-stiffness * x - friction * v)
        x += dt * (old if lines == "old speed" else v)
        rest = (before if lines == "early" else x) - seen
        term = 0.5 * rest if lines == "plain" else rest**2 if lines == "twice" else 0.5 * rest**2
        loss = term if lines == "last" else loss + term
    return loss


_MISFIT = {
    "old speed": "the place moves with the old velocity: in `simulated` the velocity comes first, and"
    " then the place moves with the new one.",
    "early": "the place is one step behind: first the velocity, then the place, then the comparison."
    " `data[t]` was measured after the step.",
    "last": "only the last measurement counts: `=` overwrites what the others have given. Add with `+=`.",
    "plain": "the distances are added, and not their squares: too far and too near cancel.",
    "no friction": "the friction has no effect: the force is -theta[0] x - theta[1] v.",
    "pushes": "the friction pushes: it must act against the velocity.",
    "twice": "the misfit is twice what it should be: ½ (x − d)².",
}


def misfit(run: Callable[[], None], theta: Any, data: Any, loss: Any, dt: float) -> None:
    """Exercise 7.1."""
    before = data.to_numpy()
    seen = np.cos(1.7 * dt * np.arange(1, len(before) + 1))
    points = [np.array(p) for p in ((3.0, 0.5), (4.5, 0.2), (1.5, 1.0))]
    data.from_numpy(seen)
    try:
        found = [gradient_of(run, theta, loss, at) for at in points]
    finally:
        data.from_numpy(before)
    losses = [value for value, _ in found]
    if not any(losses):
        not_yet("the loss is 0 for all parameters: add the squared distance from `data[t]` in each step.")
    if not np.allclose(losses, [_misfit(at, seen, dt) for at in points], rtol=1e-9):
        inputs = [(at,) for at in points]
        explain(losses, inputs, [Mistake(_with(seen, dt, k), said) for k, said in _MISFIT.items()])
        not_yet(
            f"for the parameters {points[0].tolist()} the misfit is {losses[0]:.6f}, and the simulation of"
            f" the text has {_misfit(points[0], seen, dt):.6f}."
        )
    h = 1e-5
    for at, (_, gradient) in zip(points, found, strict=True):
        slopes = [(_misfit(at + d, seen, dt) - _misfit(at - d, seen, dt)) / (2 * h) for d in h * np.eye(2)]
        if not np.allclose(gradient, slopes, rtol=1e-6):
            not_yet(f"the gradient is {gradient.tolist()}, and differences say {slopes}.")
    right("the misfit and its gradient by both parameters")


def _with(seen: np.ndarray, dt: float, lines: str) -> Callable[[np.ndarray], float]:
    return lambda theta: _misfit(theta, seen, dt, lines)


_BOWL = np.array([[3.0, 1.0, 0.0], [1.0, 2.0, 0.5], [0.0, 0.5, 1.0]])


def _bowl(x: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
    return 0.5 * x @ _BOWL @ x + x[0], _BOWL @ x + np.array([1.0, 0.0, 0.0]), _BOWL


def _cone(x: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
    """Round at the tip and straight outside: Newton's step from outside is too long by far."""
    root = np.sqrt(1 + x**2)
    return root.sum(), x / root, np.diag(root**-3)


def _walls(x: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
    directions = np.array([[1.0, 3.0], [1.0, -3.0], [-1.0, 0.0]])
    parts = np.exp(directions @ x - 0.1)
    return parts.sum(), directions.T @ parts, (directions.T * parts) @ directions


def newton(search: Callable[..., np.ndarray]) -> None:
    """Exercise 7.2."""
    calls = []
    for name, problem, start in (
        (_PARABOLA, _bowl, [1.0, -2.0, 3.0]),
        ("walls of exponentials", _walls, [-1.5, 1.0]),
        ("a cone with a round tip", _cone, [3.0, -2.0]),
    ):
        calls.append(_solved(search, name, problem, np.array(start)))
    if calls[0] > 8:
        not_yet(
            f"a parabola takes {calls[0]} calls, and one step leads to its minimum: solve with the whole"
            " Hessian, `np.linalg.solve(hessian, gradient)`."
        )
    right(f"three minima, by {sum(calls)} evaluations")


def _solved(
    search: Callable[..., np.ndarray], name: str, problem: Callable[..., Any], start: np.ndarray
) -> int:
    """How often a search evaluates a problem until its minimum."""
    losses: list[float] = []

    def evaluate(theta: np.ndarray) -> Any:
        value, gradient, hessian = problem(np.asarray(theta, dtype=float))
        losses.append(float(value))
        if len(losses) > _CALLS:
            _endless(name, losses)
        return value, gradient.copy(), hessian.copy()

    with np.errstate(all="ignore"):
        try:
            end = result(search, "newton", evaluate, start.copy(), count=len(start))
        except np.linalg.LinAlgError:
            _endless(name, losses)
        value, gradient, _ = problem(end)
    first = problem(start)[0]
    if np.array_equal(end, start):
        not_yet("`newton` returns the point where it began.")
    if np.linalg.norm(gradient) >= 1e-6:
        if value > first:
            _grown(name, first, value)
        not_yet(
            f"{name}: the gradient is still {np.linalg.norm(gradient):.1e} at the end. Go on until it is"
            " smaller than 1e-6."
        )
    return len(losses)


def _grown(name: str, first: float, worst: float) -> NoReturn:
    told = f"{name}: the loss grows from {first:.4g} to {worst:.4g}."
    if name == _PARABOLA:
        not_yet(f"{told} The step goes uphill: it is θ − H⁻¹ g, with the inverse and with a minus.")
    not_yet(f"{told} Far from the minimum the step may be too long: halve it until the loss falls.")


def _endless(name: str, losses: list[float]) -> NoReturn:
    if not max(losses) <= 2 * abs(losses[0]) + 1:
        _grown(name, losses[0], float(np.nanmax(losses)))
    not_yet(
        f"{name}: after {_CALLS} calls there is no end. Steps along the gradient alone crawl: with the"
        " Hessian it takes few, `np.linalg.solve(hessian, gradient)`."
    )
