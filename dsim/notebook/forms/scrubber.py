"""Sliders below a report, that inspect another iteration while they move.

The report's output is replaced in place, in all of its forms, so that the marks in the editor follow.
Elsewhere: the inspection (`watched.Inspector`), and the content of a report.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import ipywidgets as widgets

from dsim.diagnostics import DsimError
from dsim.notebook.report.locations import Json, harmless

_PAUSE = 0.03  # seconds in which moves count as one

Look = Callable[[tuple[int, ...], int | None], Json]


class _Row(widgets.HBox):
    """Sliders side by side; without a live kernel, one line of text."""

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        data = super()._repr_mimebundle_(**kwargs)
        if isinstance(data, dict):
            data["text/plain"] = "Run this cell to inspect other iterations with sliders."
        return data


class Scrubber:
    """Sliders for the indices of the outermost loop and for the trip of the loops inside.

    Parameters
    ----------
    report : dict
        The report that is shown.
    look : callable
        Gives the report of another iteration and trip (None for the last one).
    show : callable
        Shows it in place of the other.
    outdated : callable
        Returns the changed dependencies of the report as text; empty when none has changed.

    Attributes
    ----------
    widget : Widget
        What to display.
    indices : list of IntSlider
        One for each index.
    trip : IntSlider
        Of the loops inside, counted from 1 as in the report's text; hidden where there is only one trip.
    """

    def __init__(
        self,
        report: Json,
        look: Look,
        show: Callable[[Json], None],
        outdated: Callable[[], str] = lambda: "",
    ) -> None:
        self._look, self._show, self._outdated = look, show, outdated
        self._timer: asyncio.TimerHandle | None = None
        self._last_trip = True
        self._following = False  # the trip's slider moves, but nobody moves it
        probe = report["probe"]
        self.indices = [
            _slider(i["name"], i["value"], i["low"], i["high"] - 1, "inspect another iteration")
            for i in probe["indices"]
        ]
        self.trip = _slider("trip", 1, 1, 1, "inspect another trip of the inner loops")
        self.said = widgets.Label()
        self.widget = _Row([*self.indices, self.trip, self.said], layout=widgets.Layout(flex_flow="row wrap"))
        self.widget.add_class("dsim-scrubber")  # the extension lets its sliders have the arrow keys
        self._follow(probe)
        for s in self.indices:
            s.observe(self._moved, "value")
        self.trip.observe(self._trip_moved, "value")

    @staticmethod
    def useful(report: Json) -> bool:
        """Whether there is another iteration or trip to inspect."""
        probe = report["probe"]
        return probe is not None and (
            probe["trip"] is not None or any(i["high"] - i["low"] > 1 for i in probe["indices"])
        )

    def close(self) -> None:
        """Removes the sliders."""
        if self._timer is not None:
            self._timer.cancel()
        for w in (*self.indices, self.trip, self.said, self.widget):
            w.close()

    def stop(self, why: str) -> None:
        """Disables the sliders and shows the reason; enables them when the reason is empty."""
        for s in (*self.indices, self.trip):
            s.disabled = bool(why)
        self.said.value = why

    # -- moving

    def _trip_moved(self, change: Any) -> None:
        if not self._following:
            self._last_trip = False
            self._moved(change)

    def _moved(self, _: Any) -> None:
        """Schedules an inspection: the moves until then count as one."""
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:  # no event loop: now
            self._update()
            return
        if self._timer is None:
            self._timer = loop.call_later(_PAUSE, self._update_later)

    def _update_later(self) -> None:
        """`_update` in a loop of events, which an interrupt would end, and with it the session."""
        try:
            self._update()
        except (KeyboardInterrupt, asyncio.CancelledError):
            self.said.value = "stopped: move a slider to continue"

    def _update(self) -> None:
        self._timer = None
        if self._outdated():
            return  # the values would be another program's
        at = tuple(s.value for s in self.indices)
        try:
            report = self._look(at, None if self._last_trip else self.trip.value - 1)
        except DsimError as error:
            self.said.value = harmless(error.diagnostics[0].message if error.diagnostics else str(error))
            return
        self.said.value = ""
        self._follow(report["probe"])
        self._show(report)

    def _follow(self, probe: Json) -> None:
        """Lets the trip's slider show how many there are in this iteration."""
        trip = probe["trip"]
        self.trip.layout.display = "none" if trip is None else ""
        if trip is None:
            return
        self._following = True
        self.trip.max = trip["count"]
        self.trip.value = trip["value"] + 1
        self._following = False


def _slider(name: str, value: int, low: int, high: int, tooltip: str) -> widgets.IntSlider:
    return widgets.IntSlider(
        value=value,
        min=low,
        max=high,
        description=harmless(name),
        tooltip=tooltip,
        continuous_update=True,
        layout=widgets.Layout(width="22em"),
        style={"description_width": "initial"},
    )
