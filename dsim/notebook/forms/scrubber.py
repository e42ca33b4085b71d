"""Sliders below a report, that inspect another iteration while they move.

The report's output is replaced in place, in all of its forms, so that the marks in the editor follow.
Elsewhere: the inspection (`watched.Inspector`), and the content of a report.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ipywidgets as widgets

from dsim.diagnostics import DsimError
from dsim.live.latest import Latest
from dsim.notebook.report.locations import Json, harmless

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
        self._latest = Latest(self._update, self._stopped)
        self._last_trip = True
        self._following = False  # the trip's slider moves, but nobody moves it
        probe = report["probe"]
        self._names = [i["name"] for i in probe["indices"]]
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
            s.observe(self._latest.ask, "value")
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
        self._latest.cancel()
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
            self._latest.ask()

    def _stopped(self) -> None:
        self.said.value = "stopped: move a slider to continue"

    def _update(self) -> None:
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

    def follow(self, report: Json) -> None:
        """Shows which iterations another report has, of the same kernel."""
        probe = report["probe"]
        if probe is None or [i["name"] for i in probe["indices"]] != self._names:
            self.stop("there are no such iterations: run this cell again")
            return
        self.stop("")
        for slider, i in zip(self.indices, probe["indices"], strict=True):
            slider.min, slider.max = min(slider.min, i["low"]), max(slider.max, i["high"] - 1)
            slider.min, slider.max = i["low"], i["high"] - 1  # a value outside becomes one of the ends
        if not self._latest.asked:  # else a person has moved one meanwhile, and the sliders are right
            self._follow(probe)

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
