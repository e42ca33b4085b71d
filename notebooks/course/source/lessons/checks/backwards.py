"""Lesson 2: a backward pass by hand, all derivatives of a product, and a chain of springs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .saying import Mistake, explain, gradient_of, not_yet, result, right

_BACKWARD: list[Mistake] = [
    Mistake(
        lambda x, y: (y * np.cos(x * y), x * np.cos(x * y)),
        "`x` is read by two lines, and the share of one is lost. Adjoints add up: `x_bar += …`, never `=`.",
    ),
    Mistake(
        lambda x, y: (3.0, x * np.cos(x * y)),
        "`x` is read by two lines, and the share of `a = x * y` is missing. Each line that reads `x`"
        " adds to `x_bar`.",
    ),
    Mistake(
        lambda *_: (3.0, 0.0),
        "nothing arrives through `sin`: a line's adjoint is complete only when all lines below it have"
        " added theirs. Go through the program from the last line to the first.",
    ),
    Mistake(
        lambda x, y: (3 + x * np.cos(x * y), y * np.cos(x * y)),
        "in `a = x * y` the shares are exchanged: `x` reaches `a` multiplied by `y`.",
    ),
    Mistake(
        lambda x, y: (3 + y * np.cos(1.0), x * np.cos(1.0)),
        "`cos` is taken of the adjoint. The slope of `sin` is taken where `sin` was: at `a`.",
    ),
]


def backward(pass_back: Callable[[float, float], tuple[float, float]]) -> None:
    """Exercise 2.1."""
    inputs = [(0.8, 1.5), (-0.4, 2.0), (1.3, 0.6)]
    answers = [result(pass_back, "backward", *i, count=2) for i in inputs]
    if not np.any(answers):
        not_yet("both adjoints stay 0: `c = b + 3 * x` is the first line to go back through.")
    h = 1e-5
    expected = []
    for x, y in inputs:
        by_x = [np.sin((x + s) * y) + 3 * (x + s) for s in (h, -h)]
        by_y = [np.sin(x * (y + s)) + 3 * x for s in (h, -h)]
        expected.append([(by_x[0] - by_x[1]) / (2 * h), (by_y[0] - by_y[1]) / (2 * h)])
    if not np.allclose(answers, expected, rtol=1e-7):
        explain(answers, inputs, _BACKWARD)
        name, k = ("x_bar", 0) if not np.isclose(answers[0][0], expected[0][0]) else ("y_bar", 1)
        not_yet(
            f"at x = 0.8, y = 1.5 `{name}` is {answers[0][k]:.6f}, and differences say {expected[0][k]:.6f}."
        )
    right("both adjoints equal differences")


class _Counted(np.ndarray):
    """An array that counts how many of its numbers are read."""

    reads = 0

    def __getitem__(self, index: Any) -> Any:
        found = super().__getitem__(index)
        _Counted.reads += np.size(found)
        return found


def product(gradient: Callable[[np.ndarray], np.ndarray]) -> None:
    """Exercise 2.2."""
    v = np.array([1.5, -0.5, 2.0, 0.8, -1.2])
    expected = np.array([np.prod(np.delete(v, i)) for i in range(len(v))])
    found = result(gradient, "product_gradient", v.copy(), count=len(v))
    if (found == 1).all():
        not_yet("every derivative is 1: multiply each by the numbers in front of it and behind it.")
    if np.allclose(found, np.prod(v)):
        not_yet("every derivative is the whole product: the number itself is no factor of its derivative.")
    if np.allclose(found, np.cumprod([1, *v[:-1]])):
        not_yet("the factors behind each number are missing: now the sweep from the last to the first.")
    if not np.allclose(found, expected):
        not_yet(
            f"for {v.tolist()} the derivatives are {expected.round(4).tolist()}, not"
            f" {found.round(4).tolist()}."
        )
    for zeros in ([1], [1, 3]):
        v[zeros] = 0.0
        with np.errstate(all="ignore"):
            found = np.asarray(gradient(v.copy()), dtype=float)
        if not np.allclose(found, [np.prod(np.delete(v, i)) for i in range(len(v))]):
            not_yet(
                f"for {v.tolist()} it returns {found.tolist()}: the product divided by a number is no"
                " derivative where that number is 0. Multiply what is in front by what is behind."
            )
    many = np.linspace(0.9, 1.1, 400).view(_Counted)
    _Counted.reads = 0
    gradient(many)
    if _Counted.reads > 20 * len(many):
        not_yet(
            f"for 400 numbers it reads {_Counted.reads:,}: a loop in a loop. Keep the product of what"
            " was passed, in one sweep forwards and one backwards."
        )
    right("all derivatives, zeros too, in two sweeps")


def springs(run: Callable[[], None], p: Any, U: Any) -> None:
    """Exercise 2.3."""
    count = p.shape[0]
    at = 0.1 * np.arange(count) + 0.05 * np.random.default_rng(0).standard_normal(count)
    energy, gradient = gradient_of(run, p, U, at)
    if not gradient.any():
        not_yet("no spring has a force: add the energy of each to `U[None]`.")
    rest, _ = gradient_of(run, p, U, 0.1 * np.arange(count))
    moved, _ = gradient_of(run, p, U, at + 1.0)
    if abs(gradient.sum()) > 1e-9 or not np.isclose(energy, moved):
        not_yet(
            "the chain pushes itself: its energy changes when all points move by the same distance. It"
            " may only depend on distances, `p[i + 1] - p[i]`."
        )
    if abs(rest) > 1e-12:
        not_yet(
            f"at rest, with all springs 0.1 long, the energy is {rest:.4f} and not 0: subtract the"
            " length at rest."
        )
    if np.count_nonzero(np.abs(gradient) > 1e-12) == 2:
        not_yet("only the last spring counts: `=` overwrites the energy of the others. Add up with `+=`.")
    stretch = np.diff(at) - 0.1
    expected = 0.5 * (stretch**2).sum()
    if np.isclose(energy, 2 * expected):
        not_yet("the energy is twice what it should be: a spring stores ½ (l − 0.1)².")
    if not np.isclose(energy, expected):
        not_yet(
            f"the energy of the chain that was tried is {energy:.6f}, and the springs store {expected:.6f}."
        )
    right("at rest without energy, and all forces together are 0")
