"""What a person sets in `ds.explore`: parameters of a run, and fields of one number."""

from __future__ import annotations

import inspect
import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from dsim.live.scene.numbers import refused
from dsim.runtime.fields.fields import Field

_STEPS = 200  # of a slider whose step nobody gave
_ENDS = "(low, high) or (low, high, step)"
_ROUNDED = 1e-6  # of a step: how far the page's arithmetic is off


@dataclass
class ExploreControl:
    """One slider.

    Attributes
    ----------
    name : str
        What it is called.
    value, low, high, step : float
        Where it begins, its ends, and the distance between two places.
    whole : bool
        Whether it gives integers.
    field : Field or None
        What it writes to; None for a parameter of the run.
    fitting : bool
        Whether its step may change, since nobody gave it.
    """

    name: str
    value: float
    low: float
    high: float
    step: float
    whole: bool = False
    field: Field | None = None
    fitting: bool = False

    def put(self, value: float) -> None:
        """Takes an accepted value, and a step that has a place for it: a page shows places only."""
        self.value = value
        if self.fitting and not self._on_a_place(value):
            above = value - self.low
            self.step = above / max(1, round(above / self.step))

    def accept(self, value: Any) -> float:
        """`value` as a number that the slider can show.

        Raises
        ------
        DsimError
            When it is no number, no integer where it shall be one, or outside the ends.
        """
        if not _is_number(value) or math.isnan(value):
            raise refused(f"the control {self.name!r} takes a number, not {value!r}", f"set({self.name}=1.0)")
        number = float(value)
        if not self.low <= number <= self.high:
            ends = f"{self.low:g} to {self.high:g}"
            raise refused(
                f"the control {self.name!r} goes from {ends}, and {number:g} is outside",
                "give other ends in `controls=`",
            )
        if self.whole and number != int(number):
            message = f"the control {self.name!r} takes integers, not {value!r}"
            raise refused(message, f"set({self.name}={round(number)})")
        return int(number) if self.whole else number

    def shown_at(self, place: float) -> bool:
        """Whether a page shows its value at `place`, and reports that as if a person had moved the slider.

        It is the value itself but for the rounding of the page's arithmetic, or the nearest place to a value
        between two.
        """
        off = abs(place - self.value) / self.step
        if off == 0:
            return True
        if self._on_a_place(self.value):
            return off < _ROUNDED
        return self._on_a_place(place) and off <= 0.5001

    def _on_a_place(self, value: float) -> bool:
        steps = (value - self.low) / self.step
        return abs(steps - round(steps)) < _ROUNDED or value == self.high


def controls_of(run: Callable[..., Any], given: Any) -> list[ExploreControl]:
    """The controls of a run.

    Parameters
    ----------
    run : callable
        Its parameters with a number as default have a slider each.
    given : mapping or sequence, optional
        Ends by a parameter's name or by a field of one number, each ``(low, high)`` or ``(low, high, step)``.
        A sequence of fields has ends around their numbers.

    Raises
    ------
    DsimError
        When a parameter has no number, or a control belongs to nothing.
    """
    ends = dict(given) if isinstance(given, Mapping) else dict.fromkeys(given or ())
    made = list(_parameters(run, ends))
    for key, limits in ends.items():
        if not isinstance(key, Field):
            raise refused(
                f"`controls` names {key!r}: {_called(run)} has no such parameter",
                'controls={"gravity": (0, 20), field: (0, 1)}',
            )
        made.append(_of_field(key, limits))
    for name, count in Counter(c.name for c in made).items():
        if count > 1:
            raise refused(f"{count} controls are called {name!r}", 'ds.field(…, name="another")')
    return made


def _called(run: Any) -> str:
    return f"`{getattr(run, '__name__', 'run')}`"


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)


def _parameters(run: Callable[..., Any], ends: dict[Any, Any]) -> Iterator[ExploreControl]:
    """The controls of the run's own parameters; takes theirs out of `ends`."""
    for p in inspect.signature(run).parameters.values():
        if p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD):
            continue
        if getattr(run, "__dsim_kernel__", False) and p.name not in run.parameters:  # type: ignore[attr-defined]
            continue  # decided when it is compiled
        limits = ends.pop(p.name, None)
        if p.default is p.empty and limits is None:
            raise refused(
                f"the parameter `{p.name}` of {_called(run)} has no number to begin with",
                f"`{p.name}=1.0` in its definition, or controls={{{p.name!r}: (0, 1)}}",
            )
        if p.default is p.empty or (isinstance(p.default, int | float) and not isinstance(p.default, bool)):
            yield _made(p.name, None if p.default is p.empty else p.default, limits, _is_float(p.annotation))
        elif limits is not None:
            raise refused(
                f"the parameter `{p.name}` of {_called(run)} is no number: it has no slider",
                f"leave {p.name!r} out of `controls=`",
            )


def _is_float(annotation: Any) -> bool:
    """Whether the type of a parameter has numbers between two whole ones."""
    return annotation in (float, "float") or bool(getattr(annotation, "is_float", False))


def _of_field(field: Field, limits: Any) -> ExploreControl:
    field.require()
    if math.prod(field.full_shape) != 1:
        raise refused(
            f"a control is one number, {field.quoted} has shape {field.full_shape}",
            "name a field of shape (), or a parameter",
        )
    made = _made(field.name, field.to_numpy().reshape(())[()].item(), limits)
    made.field = field
    made.whole = made.whole and not field.dtype.is_float
    return made


def _made(name: str, value: Any, limits: Any, floating: bool = False) -> ExploreControl:
    if limits is None:
        limits = (min(0, 2 * value), max(0, 2 * value)) if value else (-1, 1)
        if not all(map(math.isfinite, (*limits, value or 0))):
            message = f"{name!r} begins with {value!r}, of which no ends of a slider follow"
            raise refused(
                message, f"give them: controls={{{name!r}: (low, high)}}, and a finite number in between"
            )
    try:
        low, high, *step = limits
        finite = math.isfinite(low) and math.isfinite(high)
    except (TypeError, ValueError):
        raise refused(f"the ends of {name!r} are two numbers, not {limits!r}", _ENDS) from None
    if len(step) > 1 or not finite or not low < high:
        raise refused(f"the ends of {name!r} are a lower and a higher number, not {limits!r}", _ENDS)
    if step and not (_is_number(step[0]) and 0 < float(step[0]) < math.inf):
        raise refused(f"the step of {name!r} is a number above 0, not {step[0]!r}", _ENDS)
    start = low if value is None else value
    whole = not floating and all(isinstance(n, int) for n in (start, *limits))
    each = step[0] if step else (1 if whole else (high - low) / _STEPS)
    made = ExploreControl(name, start, low, high, each, whole, fitting=not (step or whole))
    made.put(made.accept(start))
    return made
