"""Input events of a window: what they are, what a page says of them, and the queue that a program reads."""

from __future__ import annotations

import math
import threading
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

PRESS, RELEASE, MOTION = "Press", "Release", "Motion"
ESCAPE, EXIT, MOVE, WHEEL = "Escape", "WMClose", "Motion", "Wheel"
_MODIFIERS = ("Shift", "Alt", "Control")
_MOST = 1024  # events that wait; of a program that reads none, the oldest go
_LONGEST = 32  # characters of a key

Filter = str | tuple[str, str]


@dataclass(frozen=True)
class Event:
    """An input event of the window.

    Attributes
    ----------
    type : str
        `GUI.PRESS`, `GUI.RELEASE` or `GUI.MOTION`.
    key : str
        The key or button; `GUI.MOVE` for a motion, `GUI.WHEEL` for a turn of the wheel.
    modifier : tuple of str
        Which of Shift, Alt and Control were held down.
    pos : (float, float)
        Where the pointer was, from (0, 0) at the lower left to (1, 1).
    delta : (float, float)
        How far the wheel was turned, right and up: 120 a notch in most browsers.
    """

    type: str
    key: str
    modifier: tuple[str, ...] = ()
    pos: tuple[float, float] = (0.0, 0.0)
    delta: tuple[float, float] = (0.0, 0.0)

    def fits(self, wanted: Filter) -> bool:
        """Whether `wanted` is its type, its key, or both."""
        asked = tuple(wanted) if isinstance(wanted, list) else wanted
        return asked in (self.type, self.key, (self.type, self.key))


class EventQueue:
    """Events in order, from any thread.

    A filter passes over what it does not match. Another one still finds that, until the frame ends.

    Attributes
    ----------
    key_pressed : set of str
        The keys held down according to the events fetched so far.
    cursor : (float, float)
        Where the pointer is.
    """

    def __init__(self) -> None:
        self.key_pressed: set[str] = set()
        self.cursor = (0.0, 0.0)
        self._coming: deque[Event] = deque(maxlen=_MOST)
        self._passed: deque[Event] = deque(maxlen=_MOST)  # by filters that wanted others
        self._changed = threading.Condition()

    def add(self, event: Event) -> None:
        """Takes an event; a motion takes the place of one that came just before and was not read."""
        with self._changed:
            self.cursor = event.pos
            if event.key == MOVE and self._coming and self._coming[-1].key == MOVE:
                self._coming.pop()
            self._coming.append(event)
            self._changed.notify_all()

    def wait(self, seconds: float) -> bool:
        """Waits for an event; whether there is one."""
        with self._changed:
            return self._changed.wait_for(lambda: bool(self._coming), seconds)

    @property
    def pending(self) -> bool:
        """Whether there is an event that no filter has seen."""
        return bool(self._coming)

    def fetch(self, *wanted: Filter) -> Event | None:
        """The next event that one of `wanted` fits, or any without them."""
        with self._changed:
            for event in self._passed:
                if _fits(event, wanted):
                    self._passed.remove(event)
                    return event
            while self._coming:
                event = self._coming.popleft()
                change = self.key_pressed.add if event.type == PRESS else self.key_pressed.discard
                change(event.key)
                if _fits(event, wanted):
                    return event
                self._passed.append(event)
        return None

    def end_frame(self) -> None:
        """Forgets what filters have passed over."""
        with self._changed:
            self._passed.clear()

    def is_pressed(self, *keys: str) -> bool:
        """Whether one of `keys` is held down according to the events fetched so far."""
        sides = (f"{key}_{side}" for key in keys if key in _MODIFIERS for side in "LR")
        return any(key in self.key_pressed for key in (*keys, *sides))


def _fits(event: Event, wanted: tuple[Filter, ...]) -> bool:
    return not wanted or any(event.fits(each) for each in wanted)


def events_of(message: dict[str, Any]) -> Iterator[Event]:
    """The events in a message of the page; what is malformed is left out."""
    given = message.get("events")
    for told in given if isinstance(given, list) else ():
        found = _event(told) if isinstance(told, dict) else None
        if found is not None:
            yield found


def _event(told: dict[str, Any]) -> Event | None:
    kind, key, held = told.get("type"), told.get("key"), told.get("modifier")
    pos, delta = _pair(told.get("pos")), _pair(told.get("delta", [0, 0]))
    known = kind in (PRESS, RELEASE, MOTION) and isinstance(key, str) and 0 < len(key) <= _LONGEST
    if not known or pos is None or delta is None:
        return None
    modifier = tuple(each for each in _MODIFIERS if isinstance(held, list) and each in held)
    return Event(str(kind), str(key), modifier, pos, delta)


def _pair(given: Any) -> tuple[float, float] | None:
    """Two finite numbers; None for anything else."""
    if not isinstance(given, list) or len(given) != 2:
        return None
    if not all(isinstance(each, int | float) and math.isfinite(each) for each in given):
        return None
    return float(given[0]), float(given[1])
