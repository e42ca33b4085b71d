"""How a check says that an answer is right, or what is wrong with it."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple, NoReturn

import numpy as np

import dsim as ds


class NotYetError(AssertionError):
    """An answer that is not right yet. A notebook shows its sentence, without a traceback."""

    def _render_traceback_(self) -> list[str]:
        return [f"not yet: {self}"]


class Mistake(NamedTuple):
    """A typical wrong program, and what helps the person who wrote it."""

    program: Callable[..., Any]
    sentence: str


def right(what: str) -> None:
    """Say that an answer is right, and what was found."""
    print("right:", what)


def not_yet(sentence: str) -> NoReturn:
    """Say that an answer is not right yet, and what to look at."""
    raise NotYetError(sentence)


def result(function: Any, name: str, *given: Any, count: int = 1) -> np.ndarray:
    """What the function `name` returns for what it is given, as `count` finite numbers."""
    if not callable(function):
        not_yet(f"`{name}` is {function!r}, and not a function: run the cell that defines it again.")
    try:
        inspect.signature(function).bind(*given)
    except TypeError:
        not_yet(f"`{name}` cannot take what it is given: its first line stays as it is in the cell.")
    return number(function(*given), name, count)


def number(answer: Any, name: str, count: int = 1) -> np.ndarray:
    """What the function `name` returned, as `count` finite numbers."""
    if answer is None:
        not_yet(f"`{name}` returns nothing: end it with `return` and the result.")
    try:
        found = np.asarray(answer, dtype=float).ravel()
    except (TypeError, ValueError):
        not_yet(f"`{name}` returns {answer!r}: it is to return numbers.")
    if len(found) != count:
        not_yet(f"`{name}` returns {len(found)} numbers, and {count} are asked for.")
    if not np.isfinite(found).all():
        not_yet(f"`{name}` returns {answer}: it divides by 0 somewhere, or a number grows without end.")
    return found


def explain(found: Sequence[Any], inputs: Sequence[tuple[Any, ...]], mistakes: Sequence[Mistake]) -> None:
    """Say the sentence of the first mistake whose program gives these answers for all inputs."""
    for mistake in mistakes:
        wrong = [mistake.program(*given) for given in inputs]
        if np.allclose(np.asarray(found, dtype=float), wrong, rtol=1e-6):
            not_yet(mistake.sentence)


@contextmanager
def quiet() -> Iterator[None]:
    """Without dsim's warnings: a check says in its own words what they are about."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ds.GradientWarning)
        yield


def taped(loss: Any, run: Callable[[], Any]) -> ds.Tape:
    """A run under a tape."""
    with quiet(), ds.Tape(loss) as tape:
        run()
    return tape


def gradient_of(run: Callable[[], None], field: Any, loss: Any, at: np.ndarray) -> tuple[float, np.ndarray]:
    """The loss of a run and its gradient with `at` in `field`, which gets its own numbers back."""
    before = field.to_numpy()
    field.from_numpy(at)
    try:
        with quiet():
            taped(loss, run)
            return loss[None], field.grad.to_numpy()
    finally:
        field.from_numpy(before)
