"""Lesson 1: differences, a slope that is carried along, and a program to a gradient."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .saying import Mistake, explain, gradient_of, not_yet, result, right

_SMOOTH = (
    ("sin", np.sin, np.cos),
    ("exp", np.exp, np.exp),
    ("x⁴", lambda x: x**4, lambda x: 4 * x**3),
)


def differences(slope: Callable[..., float]) -> None:
    """Exercise 1.1."""
    asked: list[float] = []

    def square(x: float) -> float:
        asked.append(x)
        return x * x

    (found,) = result(slope, "slope", square, 3.0)
    points = np.array(asked) - 3.0
    real = not np.iscomplexobj(points)  # a complex step has one point, and no difference of equal values
    if abs(found - 12) < 1e-3:
        not_yet(
            "the slope of x² at 3 comes out as 12, twice of 6: divide by the distance of the two points, 2 h."
        )
    if real and not np.ptp(points) > 1e-8:
        not_yet(
            f"the two points are {np.ptp(points):.0e} apart. Two almost equal values agree in most of"
            " their 16 digits, and their difference has only the others: take a larger step."
        )
    if real and (points.min() >= 0 or points.max() <= 0):
        not_yet(
            f"the slope of x² at 3 comes out as {found:.8f}: both points are on one side of x, and the"
            " error is as large as the step. With one point on either side it cancels."
        )
    for name, f, df in _SMOOTH:
        (found,) = result(slope, "slope", f, 1.0)
        error = abs(found / df(1.0) - 1)
        if not error < 1e-8:
            not_yet(
                f"the slope of {name} at 1 is off by {error:.0e}. The error of the formula grows as h²,"
                " that of rounding as 1/h: try other steps, and keep the best."
            )
    right("eight digits, for every function that was tried")


def _heron(a: float, lines: str) -> tuple[float, float]:
    a_dot, r, r_dot = 1.0, 1.0, 0.0
    for _ in range(6):
        before = r
        r = (r + a / r) / 2
        if lines == "late":
            r_dot = (r_dot + (a_dot * r - a * r_dot) / r**2) / 2
        elif lines == "constant":
            r_dot = (r_dot + a_dot / before) / 2
        elif lines == "no a":
            r_dot = (r_dot - a * r_dot / before**2) / 2
        elif lines == "plus":
            r_dot = (r_dot + (a_dot * before + a * r_dot) / before**2) / 2
    return r, r_dot


_CARRIED: list[Mistake] = [
    Mistake(
        lambda a: _heron(a, "late")[1],
        "`r_dot` uses the new `r`. The slope of a line belongs to the values that the line read:"
        " compute `r_dot` before `r` is overwritten.",
    ),
    Mistake(
        lambda a: _heron(a, "constant")[1],
        "in `a / r` both change: your slope treats `r` as a constant there. The quotient rule has two terms.",
    ),
    Mistake(
        lambda a: _heron(a, "no a")[1],
        "the slope stays 0: in `a / r` your slope treats `a` as a constant, and `a` is the input."
        " Its slope is 1.",
    ),
    Mistake(
        lambda a: _heron(a, "plus")[1],
        "the sign in the quotient rule: a larger divisor makes a quotient smaller.",
    ),
]


def carried(heron_with_slope: Callable[[float], tuple[float, float]]) -> None:
    """Exercise 1.2."""
    inputs = [(0.7,), (2.0,), (400.0,)]  # six iterations do not reach the root of 400: all errors show
    answers = [result(heron_with_slope, "heron_with_slope", *i, count=2) for i in inputs]
    roots, slopes = np.transpose(answers)
    if np.array_equal(roots, [1.0, 1.0, 1.0]):
        not_yet(
            "`r` never changes: the loop needs the line of `heron` that computes it, and one for `r_dot`."
        )
    if not np.allclose(roots, [_heron(*i, "")[0] for i in inputs], rtol=1e-12):
        not_yet("the root itself has changed: the line that computes `r` stays as it is in `heron`.")
    h = 1e-5
    expected = [(_heron(a * (1 + h), "")[0] - _heron(a * (1 - h), "")[0]) / (2 * h * a) for (a,) in inputs]
    if not np.allclose(slopes, expected, rtol=1e-7):
        explain(slopes, inputs, _CARRIED)
        not_yet(f"at a = 2 the slope is {slopes[1]:.6f}, and differences say {expected[1]:.6f}.")
    right("the carried slope equals differences, and has no step to choose")


def cubes(run: Callable[[], None], x: Any, total: Any) -> None:
    """Exercise 1.3."""
    at = np.array([0.3, -0.7, 1.1, 1.9])
    _, gradient = gradient_of(run, x, total, at)
    if np.allclose(gradient, 3 * at**2, rtol=1e-10):
        return right("the gradient is 3 x² at every number")
    if not gradient.any():
        not_yet("the gradient is 0: no line adds something to `total[None]` that depends on `x[i]`.")
    if np.allclose(gradient, 6 * at):
        not_yet("the *value* is 3 x², so the gradient is 6 x. Which function has the slope 3 x²?")
    if np.count_nonzero(gradient) == 1:
        not_yet("only one number has a gradient: `=` keeps the last term alone. Add the terms up with `+=`.")
    worst = np.abs(gradient - 3 * at**2).argmax()
    not_yet(
        f"at x[{worst}] = {at[worst]} the gradient is {gradient[worst]:.4f},"
        f" and it should be {3 * at[worst] ** 2:.4f}."
    )
