"""The sliders of `ds.explore`, each with the derivative of the loss beside it as a number and a bar."""

from __future__ import annotations

import math
from collections.abc import Callable
from html import escape
from typing import Any

import ipywidgets as widgets

from dsim.live.exploring.controls import ExploreControl
from dsim.live.exploring.explored_run import ExploredRun
from dsim.live.lifetime import close_tree

_MOST = 200  # losses in the curve
_DECIMALS = 8  # with more a number is written with an exponent
_WIDE, _HIGH = 240, 48
_UP, _DOWN = "#c0504d", "#4472c4"
_PLACE = "display: inline-block; position: relative; width: 8em; height: 0.8em"
_FRAME = f"{_PLACE}; background: rgba(128, 128, 128, 0.2)"


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
        self._losses: list[float] = []
        self.sliders = {c.name: _slider(c) for c in controls}
        self.bars = {name: widgets.HTML() for name in self.sliders}
        self._told, self._curve = widgets.HTML(), widgets.HTML()
        for control in controls:
            self.sliders[control.name].observe(
                lambda change, c=control: self._moved(c, change["new"]), "value"
            )
        rows = [widgets.HBox([slider, self.bars[name]]) for name, slider in self.sliders.items()]
        self._picture = picture
        above = [] if picture is None else [picture]
        self.widget = widgets.VBox([*above, *rows, self._told, self._curve])
        self.widget.add_class("dsim-explorer")

    def _moved(self, control: ExploreControl, value: float) -> None:
        if control.value != value and not control.between_places(value):
            control.value = value
            self._ask()

    def follow(self, found: ExploredRun, stopped: bool = False) -> None:
        """Shows what the last run gave; sliders that are `stopped` do not move."""
        most = max((abs(g) for g in found.gradients.values()), default=0.0)
        for control in self._controls:
            slider = self.sliders[control.name]
            slider.step, slider.value = control.step, control.value
            slider.disabled = stopped
            gradient = found.gradients.get(control.name)
            self.bars[control.name].value = "" if gradient is None else _bar(gradient, most)
        if found.loss is not None and not found.problem:
            self._losses = [*self._losses, found.loss][-_MOST:]
            self._curve.value = _curve(self._losses)
        self._told.value = f'<span role="status">{escape(found.told())}</span>'

    def close(self) -> None:
        """Removes the widgets, but the picture."""
        self.widget.children = [child for child in self.widget.children if child is not self._picture]
        close_tree(self.widget)


def _slider(control: ExploreControl) -> Any:
    kind = widgets.IntSlider if control.whole else widgets.FloatSlider
    made = kind(value=control.value, min=control.low, max=control.high, step=control.step)
    made.description = control.name
    if not control.whole:
        made.readout_format = _format(control.step)
    made.layout.width = "24em"
    made.style.description_width = "initial"
    return made


def _format(step: float) -> str:
    """Shows neighbouring places of a slider as different numbers."""
    decimals = max(0, math.ceil(-math.log10(step))) + 1
    return f".{decimals}f" if decimals < _DECIMALS else ".4e"


def _bar(gradient: float, most: float) -> str:
    """A number, and a bar from the middle: to the right where the loss grows with the control."""
    share = 50 * abs(gradient) / most if most > 0 else 0.0
    left = 50.0 if gradient >= 0 else 50.0 - share
    colour = _UP if gradient >= 0 else _DOWN
    bar = f"position: absolute; left: {left:.1f}%; width: {share:.1f}%; height: 100%; background: {colour}"
    return f'<span style="{_FRAME}" aria-hidden="true"><span style="{bar}"></span></span> ∂ {gradient:.4g}'


def _curve(losses: list[float]) -> str:
    """The last losses as a line."""
    finite = [v for v in losses if math.isfinite(v)]
    if len(finite) < 2:
        return ""
    low, high = min(finite), max(finite)
    across = max(len(finite) - 1, 1)
    places = " ".join(
        f"{_WIDE * n / across:.1f},{_HIGH - (_HIGH - 4) * ((v - low) / (high - low or 1.0)) - 2:.1f}"
        for n, v in enumerate(finite)
    )
    label = f"loss over the last {len(finite)} runs: from {finite[0]:.4g} to {finite[-1]:.4g}"
    return (
        f'<svg width="{_WIDE}" height="{_HIGH}" role="img" aria-label="{label}">'
        f'<polyline points="{places}" fill="none" stroke="currentColor" stroke-width="1.5"/></svg>'
    )
