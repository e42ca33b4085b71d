"""The sliders of `ds.explore`, each with the derivative of the loss beside it as a number and a bar."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from html import escape
from typing import Any

import ipywidgets as widgets

from dsim.live.disconnected import when_disconnected
from dsim.live.exploring.controls import ExploreControl
from dsim.live.exploring.explored_run import ExploredRun
from dsim.live.exploring.marks import gradient_bar, loss_curve
from dsim.live.lifetime import close_tree

_SHORT = 9  # characters: names up to here are not wider than `_NAME_WIDTH` in any script
_NAME_WIDTH = "9em"
_DECIMALS = 8  # with more a number is written with an exponent


class Panel:
    """The widgets of an explorer.

    Parameters
    ----------
    controls : list of ExploreControl
        One slider each.
    picture : Widget or None
        What is above them.
    ask : callable
        Asks for a run, after a control has changed.

    Attributes
    ----------
    widget : Widget
        What to display.
    sliders : dict of str to Widget
        By the names of controls.
    """

    def __init__(self, controls: list[ExploreControl], picture: Any, ask: Callable[[], None]) -> None:
        self._controls, self._ask = controls, ask
        self.sliders = {c.name: _slider(c) for c in controls}
        self.bars = {name: widgets.HTML() for name in self.sliders}
        self._told, self._curve = widgets.HTML(), widgets.HTML()
        for control in controls:
            self.sliders[control.name].observe(
                lambda change, c=control: self._moved(c, change["new"]), "value"
            )
        rows = [widgets.HBox([slider, self.bars[name]]) for name, slider in self.sliders.items()]
        self._picture = picture
        # A picture says itself that it has no kernel any more.
        above, below = ([], [when_disconnected()]) if picture is None else ([picture], [])
        self.widget = widgets.VBox([*above, *rows, self._told, self._curve, *below])
        self.widget.add_class("dsim-column")
        self.widget.add_class("dsim-explorer")

    def _moved(self, control: ExploreControl, value: float) -> None:
        if not control.shown_at(value):
            control.value = value
            self._ask()

    def follow(self, found: ExploredRun, losses: Sequence[float], stopped: bool = False) -> None:
        """Shows what the last of runs with these losses gave; sliders that are `stopped` do not move."""
        most = max((abs(g) for g in found.gradients.values()), default=0.0)
        for control in self._controls:
            slider = self.sliders[control.name]
            _place(slider, control)
            slider.disabled = stopped
            gradient = found.gradients.get(control.name)
            self.bars[control.name].value = "" if gradient is None else gradient_bar(gradient, most)
        self._curve.value = loss_curve(losses)
        self._tell(found.told_with_warnings())

    def wait(self) -> None:
        """Says that a run has begun."""
        self._tell("running …")

    def _tell(self, text: str) -> None:
        self._told.value = f'<span role="status">{escape(text)}</span>'

    def close(self) -> None:
        """Removes the widgets, but the picture."""
        self.widget.children = [child for child in self.widget.children if child is not self._picture]
        close_tree(self.widget)


def _place(slider: Any, control: ExploreControl) -> None:
    """Moves a slider to its control's value. A page that hears of the step first rounds the value before."""
    if (slider.step, slider.value) == (control.step, control.value):
        return
    with slider.hold_sync():
        slider.continuous_update = False
        slider.step, slider.value = control.step, control.value
    _listen(slider)


def _listen(slider: Any, _: Any = None) -> None:
    """Lets the page report moves as they are made, after it has drawn the slider at its place.

    While it does so, it reports also what it draws and what it is told, as if a person had moved the slider:
    rounded to a place, and late, when the control may have another value.
    """
    slider.continuous_update = bool(slider._view_count)


def _slider(control: ExploreControl) -> Any:
    kind = widgets.IntSlider if control.whole else widgets.FloatSlider
    made = kind(value=control.value, min=control.low, max=control.high, step=control.step)
    made.description = made.tooltip = control.name
    if not control.whole:
        made.readout_format = _format(control.step)
    made._view_count = 0  # so pages count what they have drawn
    made.observe(partial(_listen, made), "_view_count")
    _listen(made)
    made.layout.width = "24em"
    # A wider name ends in an ellipsis: the track keeps the rest of the row.
    made.style.description_width = "initial" if len(control.name) <= _SHORT else _NAME_WIDTH
    return made


def _format(step: float) -> str:
    """Shows neighbouring places of a slider as different numbers."""
    decimals = max(0, math.ceil(-math.log10(step))) + 1
    return f".{decimals}f" if decimals < _DECIMALS else ".4e"
