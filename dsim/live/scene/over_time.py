"""Numbers with an axis of time: layers draw one step of all that were there at one moment."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from dsim.live.scene.encoding import limits_of
from dsim.live.scene.numbers import name_of, read, refused
from dsim.runtime.fields.components import Component
from dsim.runtime.fields.fields import Field

_ADVICE = "`time=0` for `x[t, i]`, `time=1` for `x[i, t]`"
_PLACED = ("points", "lines", "mesh", "image")  # an array of such has vectors along its last axis


class OverTime:
    """One step of a source, as layers ask for numbers.

    Parameters
    ----------
    source : field, array or callable
        What has the numbers of all steps.
    step : callable
        The number of the step that is drawn.
    axis : int
        That of time.

    Attributes
    ----------
    whole : ndarray
        The numbers of all steps, as they were when they were taken.
    """

    def __init__(self, source: Any, step: Callable[[], int], axis: int) -> None:
        self.source = source
        self.axis = axis
        self._step = step
        self.__name__ = name_of(source)
        self.take()

    def take(self) -> None:
        """Takes the present numbers."""
        self.whole = np.array(read(self.source, "a view over time"))
        self._limits: tuple[float, float] | None = None

    def __call__(self) -> np.ndarray:
        """The numbers of that step."""
        return self.whole.take(self._step(), self.axis)

    @property
    def count(self) -> int:
        """How many steps there are."""
        return self.whole.shape[self.axis]

    @property
    def limits(self) -> tuple[float, float]:
        """The least and the greatest finite number of all steps."""
        if self._limits is None:
            self._limits = limits_of(self.whole)
        return self._limits


class History:
    """What is drawn over time: `x`, and what has the same axis of time.

    Parameters
    ----------
    x : field, array or callable
        The numbers of all steps.
    time : int
        The axis of time, among those of the indices of `x`.
    kind : str or None
        What it is drawn as.

    Attributes
    ----------
    at : int
        The step that layers draw.

    Raises
    ------
    DsimError
        When `x` has no such axis.
    """

    def __init__(self, x: Any, time: Any, kind: str | None) -> None:
        self.at = 0
        array = read(x, "a view")
        self._shape: tuple[int, ...] | None = x.shape if isinstance(x, Field | Component) else None
        self._axes = array.ndim - _vectors(array, kind) if self._shape is None else len(self._shape)
        self._axis = self._checked(time)
        self.x = self._of(x)
        self._all = [self.x]
        if not self.count:
            raise refused(f"the axis {self._axis} of time has no steps", "give it one at least")

    def _checked(self, time: Any) -> int:
        try:
            axis = operator.index(time)
        except TypeError:
            axis = self._axes
        if isinstance(time, bool) or not -self._axes <= axis < self._axes:
            raise refused(f"`time` is one of {self._axes} axes, not {time!r}", _ADVICE)
        return axis % self._axes

    @property
    def count(self) -> int:
        """How many steps there are."""
        return self.x.count

    def take(self) -> None:
        """Takes the present numbers of everything.

        Raises
        ------
        DsimError
            When something has fewer or more steps than `x`.
        """
        for each in self._all:
            each.take()
            self._compare(each)

    def follow(self, source: Any, entry: int) -> Any:
        """One step of `source`, where it has the axes of `x`; else `source`, which is the same at each step.

        Parameters
        ----------
        source : field, array, callable, str or None
            Colours or arrows.
        entry : int
            How many axes an entry has: 0 for numbers, 1 for vectors.
        """
        if source is None or isinstance(source, str):
            return source
        return self._added(source) if read(source, "a view").ndim == self._axes + entry else source

    def follow_field(self, source: Any) -> Any:
        """One step of `source` if it is `x`, or a field with the indices of `x`; else `source`."""
        alike = isinstance(source, Field | Component) and source.shape == self._shape
        fitting = alike or source is self.x.source
        return self._added(source) if fitting else source

    def _added(self, source: Any) -> OverTime:
        made = self._of(source)
        self._compare(made)
        self._all.append(made)
        return made

    def _compare(self, each: OverTime) -> None:
        if each.count != self.count:
            message = f"{each.__name__ or 'a layer'!r} has {each.count:,} steps, not {self.count:,}"
            raise refused(message, "what has the axis of time has as many steps as what is drawn")

    def _of(self, source: Any) -> OverTime:
        return OverTime(source, lambda: self.at, self._axis)


def everything(source: Any) -> Any:
    """The numbers of all steps, of a source that has steps; else the source."""
    return source.whole if isinstance(source, OverTime) else source


def _vectors(array: np.ndarray, kind: str | None) -> int:
    """How many axes of an array, which is no field, an entry has."""
    placed = kind in _PLACED or (kind is None and array.ndim > 2 and array.shape[-1] in (2, 3))
    return int(placed and array.ndim > 1)
