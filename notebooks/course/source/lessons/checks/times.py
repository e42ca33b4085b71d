"""Lesson 5: the way back of a time step, and checkpoints by hand."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .saying import Mistake, explain, not_yet, number, result, right

_DT, _STEPS = 0.1, 25


def _swing(x: float, v: float) -> tuple[float, list[float]]:
    xs = []
    for _ in range(_STEPS):
        xs.append(x)
        v = v - _DT * np.sin(x)
        x = x + _DT * v
    return x, xs


def _back(xs: list[float], mistake: str) -> tuple[float, float]:
    x_bar, v_bar = 1.0, 0.0
    for x in xs if mistake == "forwards" else reversed(xs):
        if mistake == "order":
            x_bar += -_DT * np.cos(x) * v_bar
        v_bar += _DT * x_bar
        if mistake == "sign":
            x_bar += _DT * np.cos(x) * v_bar
        elif mistake == "lost":
            x_bar = -_DT * np.cos(x) * v_bar
        elif mistake == "sin":
            x_bar += -_DT * np.sin(x) * v_bar
        elif mistake != "order":
            x_bar += -_DT * np.cos(x) * v_bar
    return x_bar, v_bar


_SWING: list[Mistake] = [
    Mistake(
        lambda x, v: _back(_swing(x, v)[1], "order"),
        "the two lines are in the order of the way there. The last line of the step, `x = x + dt * v`, is"
        " the first one that the way back meets.",
    ),
    Mistake(
        lambda x, v: _back(_swing(x, v)[1], "forwards"),
        "the angles are taken from the first to the last. The way back begins with the last step:"
        " `reversed(xs)`.",
    ),
    Mistake(
        lambda x, v: _back(_swing(x, v)[1], "sign"),
        "the sign of the force: `v = v - dt * sin(x)` has the slope -dt cos(x) by `x`.",
    ),
    Mistake(
        lambda x, v: _back(_swing(x, v)[1], "lost"),
        "`x_bar` is overwritten. `x` is read by both lines, `sin(x)` and `x + dt * v`: the share of one is"
        " added to that of the other.",
    ),
    Mistake(
        lambda x, v: _back(_swing(x, v)[1], "sin"),
        "the force enters with its value, sin(x). Its slope is cos(x).",
    ),
]


def swing(back: Callable[[list[float], float], tuple[float, float]]) -> None:
    """Exercise 5.1."""
    inputs = [(0.4, 0.0), (1.2, -0.5), (2.5, 1.0)]
    answers = [result(back, "swing_back", _swing(*i)[1], _DT, count=2) for i in inputs]
    if np.array_equal(answers, [[1.0, 0.0]] * 3):
        not_yet("both adjoints are those of the last state: go back through all steps.")
    h = 1e-5
    expected = [
        [
            (_swing(x + h, v)[0] - _swing(x - h, v)[0]) / (2 * h),
            (_swing(x, v + h)[0] - _swing(x, v - h)[0]) / (2 * h),
        ]
        for x, v in inputs
    ]
    if not np.allclose(answers, expected, rtol=1e-6, atol=1e-8):
        explain(answers, inputs, _SWING)
        not_yet(
            f"from the angle 0.4 the adjoints are {answers[0].round(6).tolist()}, and differences say"
            f" {np.round(expected[0], 6).tolist()}."
        )
    right("both adjoints equal differences, through 25 steps")


class _State:
    """A state that is counted as long as something refers to it."""

    alive = most = 0

    def __init__(self, value: float, t: int) -> None:
        self.value, self.t = value, t
        _State.alive += 1
        _State.most = max(_State.most, _State.alive)

    def __del__(self) -> None:
        _State.alive -= 1


def checkpoints(gradient: Callable[..., float]) -> None:
    """Exercise 5.2."""
    n, runs, visited = 100, [], []

    def step(state: _State) -> _State:
        runs.append(state.t)
        return _State(state.value + 0.1 * np.sin(state.value), state.t + 1)

    def back(state: _State, adjoint: float) -> float:
        visited.append(state.t)
        return adjoint * (1 + 0.1 * np.cos(state.value))

    _State.alive = _State.most = 0
    found = gradient(step, back, _State(0.3, 0), 2.0, n)
    _order(visited, n)
    if _State.most > 25:
        not_yet(
            f"at one time there are {_State.most} states, and 25 are allowed. Keep every tenth on the way"
            " there, and drop those of a stretch when you have gone back through it."
        )
    if len(runs) > 2 * n:
        not_yet(
            f"`step` runs {len(runs):,} times, and {2 * n} are allowed: each stretch begins at the state"
            " that was kept for it, not at the start."
        )
    exact, value = 2.0, 0.3
    for _ in range(n):
        exact, value = exact * (1 + 0.1 * np.cos(value)), value + 0.1 * np.sin(value)
    if not np.allclose(number(found, "gradient"), exact):
        not_yet(f"the adjoint of the start is {exact:.6f}, and `gradient` returns {found}.")
    right(f"{_State.most} states at a time, {len(runs)} steps forwards")


def _order(visited: list[int], n: int) -> None:
    """Whether the way back has met the state before each step, from the last to the first."""
    if not visited:
        not_yet("`back` is never called: it takes the adjoint from after a step to before it.")
    if visited[0] == n:
        not_yet(
            "the first call of `back` gets the state *after* the last step. It needs the one before it,"
            f" number {n - 1}."
        )
    if visited[0] != n - 1:
        not_yet(
            f"the first call of `back` gets the state before step {visited[0]}, counted from 0: the way back"
            f" begins with step {n - 1}."
        )
    if visited != list(reversed(range(n))):
        k = next(i for i, t in enumerate([*visited, None]) if i == n or t != n - 1 - i)
        found = f"that of step {visited[k]}" if k < len(visited) else "none"
        not_yet(
            f"call {k + 1} of `back` needs the state before step {n - 1 - k}, and gets {found}. Is a step at"
            " the edge of two stretches left out, or taken twice?"
        )
