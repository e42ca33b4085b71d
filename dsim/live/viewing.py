"""`ds.view`: the view that suits what is to be drawn."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

from dsim.diagnostics.frames import outermost
from dsim.live.scene.choosing import layer_for
from dsim.live.scene.layers import Layer
from dsim.live.scene.numbers import refused
from dsim.live.scene.over_time import History
from dsim.live.scene.scene import Scene
from dsim.live.time_view import TimeView
from dsim.live.view import View


@outermost
def view(  # noqa: PLR0913 (all but the first have names)
    x: Any,
    *layers: Layer,
    kind: str | None = None,
    color: Any = None,
    arrows: Any = None,
    indices: Any = None,
    colormap: str | None = None,
    limits: tuple[float, float] | None = None,
    size: float | None = None,
    bounds: Sequence[Sequence[float]] | None = None,
    title: str | None = None,
    time: int | None = None,
    most: int | None = None,
    budget: int = 1 << 28,
) -> View:
    """A picture of a field below the cell, which `update` and `record` renew.

    Parameters
    ----------
    x : field, array, callable or Layer
        Vectors of 2 or 3 numbers are positions, numbers with two axes are a grid. A function is asked anew
        for each picture.
    *layers : Layer
        More to be drawn, in front of `x`.
    kind : {"points", "grid", "image", "lines", "mesh"}, optional
        What it is drawn as; by default what suits its shape.
    color : str, field, array or callable, optional
        One colour, such as ``"tomato"`` or ``"#3070b0"``; or a number for each position.
    arrows : field, array or callable, optional
        A vector at each position.
    indices : field or array, optional
        Pairs or triples of positions, joined by lines or triangles.
    colormap : str, optional
        A colour map of matplotlib.
    limits : (float, float), optional
        The numbers at both ends of the colour map; by default those of each picture.
    size : float, optional
        The diameter of a point, or the width of a line, in pixels.
    bounds : sequence of (float, float), optional
        What the picture shows, for each dimension; by default what `x` needs now, with a margin, and more
        when most of its positions have left that.
    title : str, optional
        Its name for people, and for screen readers.
    time : int, optional
        The axis of time, where `x` holds all steps: 0 for ``x[t, i]``. The player goes along it. So do
        `color` and `arrows` that have it, and in `layers` fields with the indices of `x`, and `x` itself.
    most : int, default 250,000
        Of more points or arrows so many are drawn, chosen at random; the picture says so.
    budget : int, default 256 MiB
        How many bytes of recorded frames are kept.

    Returns
    -------
    View
        The picture; the last line of a cell shows it.

    Raises
    ------
    DsimError
        When there is nothing in `x` that can be drawn.

    Examples
    --------
    >>> import dsim as ds
    >>> x = ds.Vector.field(2, ds.f32, shape=100, name="x")
    >>> picture = ds.view(x, bounds=[(0, 1), (0, 1)])
    >>> for step in range(10):
    ...     picture.record()
    >>> picture
    view of points of x, 10 frames
    """
    if not isinstance(budget, int | float) or not budget >= 0:
        raise refused(f"`budget` is a number of bytes, not {budget!r}", "budget=100_000_000")
    looks = {"colormap": colormap, "limits": limits, "size": size, "most": most}
    history = None if time is None else _history(x, time, kind)
    if history is not None:
        x, color, arrows = history.x, history.follow(color, 0), history.follow(arrows, 1)
        layers = tuple(_following(layer, history) for layer in layers)
    made = [x] if isinstance(x, Layer) else layer_for(x, kind, color, arrows, indices, **looks)
    drawn = Scene([*made, *layers], title or made[0].name, bounds)
    drawn.json()
    drawn.frame(0)  # what cannot be drawn is refused here
    return View(drawn, budget) if history is None else TimeView(drawn, history)


def _history(x: Any, time: Any, kind: str | None) -> History:
    if isinstance(x, Layer):
        raise refused("`time` is the axis of a field, and `x` is a layer", "ds.view(x, layer, time=0)")
    return History(x, time, kind)


def _following(layer: Layer, history: History) -> Layer:
    """A copy of a layer, which draws one step of the fields that have all."""
    made = copy.copy(layer)
    for source in ("at", "values", "vectors", "pixels"):
        if hasattr(made, source):
            setattr(made, source, history.follow_field(getattr(made, source)))
    return made
