"""What an explorer draws beside its numbers: bars of derivatives, the curve of losses, and a page of both."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

from dsim.live.exploring.controls import ExploreControl
from dsim.live.exploring.explored_run import ExploredRun

_WIDE, _HIGH = 240, 48
_ROUNDING = 1e-6  # of a loss; the curve of losses that differ by less is flat
_UP, _DOWN = "#c0504d", "#4472c4"
_PLACE = "display: inline-block; position: relative; width: 8em; height: 0.8em"
_FRAME = f"{_PLACE}; background: rgba(128, 128, 128, 0.2)"


def gradient_bar(gradient: float, most: float) -> str:
    """A number, and a bar from the middle: to the right where the loss grows with the control."""
    share = 50 * abs(gradient) / most if most > 0 else 0.0
    left = 50.0 if gradient >= 0 else 50.0 - share
    colour = _UP if gradient >= 0 else _DOWN
    bar = f"position: absolute; left: {left:.1f}%; width: {share:.1f}%; height: 100%; background: {colour}"
    return f'<span style="{_FRAME}" aria-hidden="true"><span style="{bar}"></span></span> ∂ {gradient:.4g}'


def loss_curve(losses: Sequence[float]) -> str:
    """The last losses as a line, with what it is below it."""
    finite = [v for v in losses if math.isfinite(v)]
    if len(finite) < 2:
        return ""
    low, high = min(finite), max(finite)
    least = _ROUNDING * max(abs(low), abs(high))  # sums in another order are no change of the loss
    across, up = len(finite) - 1, (_HIGH - 4) / (high - low) if high - low > least else 0.0
    places = " ".join(
        f"{_WIDE * n / across:.1f},{_HIGH - up * (v - low) - 2:.1f}" for n, v in enumerate(finite)
    )
    label = f"loss over the last {len(finite)} runs: from {finite[0]:.4g} to {finite[-1]:.4g}"
    return (
        f'<svg width="{_WIDE}" height="{_HIGH}" role="img" aria-label="{label}">'
        f'<polyline points="{places}" fill="none" stroke="currentColor" stroke-width="1.5"/></svg>'
        f'<div aria-hidden="true" style="opacity: 0.7">{label}</div>'
    )


def still_explorer(
    picture: str, controls: Sequence[ExploreControl], found: ExploredRun, losses: Sequence[float]
) -> str:
    """An explorer for pages without a kernel: its picture, its controls as a table, and the losses.

    Parameters
    ----------
    picture : str
        The picture as HTML; empty without one.
    controls : sequence of ExploreControl
        The rows of the table.
    found : ExploredRun
        What the last run gave.
    losses : sequence of float
        Those of the runs so far.
    """
    most = max((abs(g) for g in found.gradients.values()), default=0.0)
    rows = "".join(_row(control, found.gradients.get(control.name), most) for control in controls)
    heads = "".join(f'<th scope="col">{head}</th>' for head in ("control", "value", "from", "to", "gradient"))
    table = f"<table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>" if rows else ""
    told = f"<p>{escape(found.told())}</p>" if found.told() else ""
    return f'<div class="dsim-explorer">{picture}{table}{told}{loss_curve(losses)}</div>'


def _row(control: ExploreControl, gradient: float | None, most: float) -> str:
    numbers = "".join(f"<td>{n:.6g}</td>" for n in (control.value, control.low, control.high))
    bar = "" if gradient is None else gradient_bar(gradient, most)
    return f'<tr><th scope="row">{escape(control.name)}</th>{numbers}<td>{bar}</td></tr>'
