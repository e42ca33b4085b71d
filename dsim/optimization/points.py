"""Points of an optimisation: where it is, the best of them, and what is kept of each step."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from dsim.runtime.transforms.selection import Selection

HISTORY = np.dtype(
    [("step", "i8"), ("loss", "f8"), ("gradient_norm", "f8"), ("length", "f8"), ("seconds", "f8")]
)


@dataclass(frozen=True)
class Iterate:
    """Where an optimisation is.

    Attributes
    ----------
    x : ndarray
        The free numbers.
    loss : float
        The loss there.
    gradient : ndarray
        Its gradient by the free numbers.
    state : mapping of str to ndarray
        What the method has kept from the steps before.
    """

    x: np.ndarray
    loss: float
    gradient: np.ndarray
    state: Mapping[str, np.ndarray] = field(default_factory=dict)

    @property
    def gradient_norm(self) -> float:
        """The Euclidean norm of the gradient."""
        return length(self.gradient)


_SAME = 1e-5  # relative, of losses and gradients that differ by rounding alone


class Track:
    """Where an optimisation has been.

    Attributes
    ----------
    rows : list of tuple
        One for the start and for each step, as in `HISTORY`.
    point : Iterate or None
        The last of them.
    best : Iterate or None
        That of the least loss.
    """

    def __init__(self) -> None:
        self.rows: list[tuple[int, float, float, float, float]] = []
        self.point: Iterate | None = None
        self.best: Iterate | None = None

    def __str__(self) -> str:
        if self.point is None or self.best is None:
            return ""
        return f", loss {self.point.loss:.6g}, best {self.best.loss:.6g}"

    def add(self, point: Iterate, seconds: float) -> None:
        """It has come to a point."""
        moved = 0.0 if self.point is None else length(point.x - self.point.x)
        self.point = point
        self.rows.append((len(self.rows), point.loss, point.gradient_norm, moved, seconds))
        if self.best is None or point.loss < self.best.loss:
            self.best = point

    def restore(self, point: Iterate, best: Iterate, history: np.ndarray) -> None:
        """It goes on from what a file holds."""
        self.point, self.best, self.rows = point, best, [tuple(row) for row in history.tolist()]

    def renew(self, evaluate: Callable[[np.ndarray], tuple[float, np.ndarray]]) -> str:
        """Evaluates the last point and the best one again: the user may have changed what the run reads.

        Returns
        -------
        str
            A line about the losses, if the run gives other ones now, which then are those of the points.
        """
        point, best = self.point, self.best
        if point is None or best is None:
            return ""
        now = _again(point, evaluate)
        least = now if best is point else _again(best, evaluate)
        if now is point and least is best:
            return ""
        self.point, self.best = now, min(least, now, key=lambda each: each.loss)
        return (
            "its run gives another loss than before, so the best parameters so far were evaluated again: "
            f"{best.loss:.6g} was, {least.loss:.6g} is their loss"
        )


def _again(point: Iterate, evaluate: Callable[[np.ndarray], tuple[float, np.ndarray]]) -> Iterate:
    """The point as the run is now; itself, if that is the same."""
    loss, gradient = evaluate(point.x)
    close = np.isclose(loss, point.loss, _SAME, 0.0)
    if close and np.allclose(gradient, point.gradient, _SAME, _SAME * np.abs(point.gradient).max(initial=0)):
        return point
    return replace(point, loss=loss, gradient=gradient)


def length(vector: np.ndarray) -> float:
    """The Euclidean norm, by NumPy's own loops: BLAS would wake all cores for a long vector."""
    return float(np.sqrt(np.square(vector).sum()))


@dataclass(frozen=True)
class Best:
    """The point of the least loss.

    Attributes
    ----------
    loss : float
        The loss.
    parameters : ndarray or mapping
        The values of ``wrt=``: an array for a single field, arrays by field for a list.
    """

    loss: float
    parameters: Any

    def named(self, wrt: Selection) -> list[tuple[str, np.ndarray]]:
        """The values with the names of what they belong to."""
        names = [getattr(leaf, "name", "") or f"array {number}" for number, leaf in enumerate(wrt.leaves)]
        found = [self.parameters] if wrt.single else [self.parameters[leaf] for leaf in wrt.leaves]
        return list(zip(names, found, strict=True))
