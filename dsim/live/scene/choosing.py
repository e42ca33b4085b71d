"""The layer that suits a field, from its shape."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from dsim.live.scene.layers import Arrows, GridLayer, ImageLayer, Layer, Lines, Mesh, Points
from dsim.live.scene.numbers import name_of, read, refused
from dsim.live.scene.over_time import OverTime
from dsim.runtime.fields.components import Component
from dsim.runtime.fields.fields import Field

KINDS = ("points", "grid", "image", "lines", "mesh")


def layer_for(x: Any, kind: str | None, color: Any, arrows: Any, indices: Any, **looks: Any) -> list[Layer]:
    """The layers of ``ds.view(x, kind, …)``, from the back to the front.

    Parameters
    ----------
    x : field, array or callable
        What is drawn.
    kind : str or None
        One of `KINDS`; None decides by the shape.
    color : str, field, array, callable or None
        One colour for all, or numbers for the colour map.
    arrows : field, array, callable or None
        Vectors at the positions.
    indices : field, array or None
        The positions that lines or triangles join.
    **looks
        Fields of `Layer`.
    """
    shape = read(x, "a view").shape
    entry = _entry_shape(x)
    chosen = kind or _kind(shape, indices, entry)
    if chosen not in KINDS:
        raise refused(f"`kind` is one of {', '.join(KINDS)}, not {kind!r}", 'such as `kind="points"`')
    name = name_of(x) or chosen
    looks = {option: given for option, given in looks.items() if given is not None}
    placed = chosen not in _FILLING
    make = partial(_placed, chosen) if placed else _FILLING[chosen]
    made = [make(name, x, color, indices, looks)]
    if arrows is not None:
        at = x if placed else (lambda: _centres(read(x, name).shape[:2]))
        some = {"most": looks["most"]} if "most" in looks else {}
        made.append(Arrows(name=name_of(arrows) or "arrows", at=at, vectors=arrows, **some))
    return made


def _grid(name: str, x: Any, color: Any, indices: Any, looks: dict[str, Any]) -> Layer:
    meaningless = {"color": color, "indices": indices, **{name: looks.get(name) for name in ("size", "most")}}
    _without(meaningless, "a grid", "`colormap` and `limits` colour its numbers")
    return GridLayer(name=name, values=x, **looks)


def _image(name: str, x: Any, color: Any, indices: Any, looks: dict[str, Any]) -> Layer:
    meaningless = {"color": color, "indices": indices, **looks}
    _without(meaningless, "an image", "its pixels have colours of their own")
    return ImageLayer(name=name, pixels=x)


_FILLING: dict[str, Callable[..., Layer]] = {"grid": _grid, "image": _image}


def _without(meaningless: dict[str, Any], what: str, advice: str) -> None:
    for option, given in meaningless.items():
        if given is not None:
            raise refused(f"`{option}` means nothing for {what}", advice)


def _placed(chosen: str, name: str, x: Any, color: Any, indices: Any, looks: dict[str, Any]) -> Layer:
    one, values = (color, None) if isinstance(color, str) else (None, color)
    looks = {"name": name, "at": x, "values": values, "color": one, **looks}
    if chosen == "points":
        if indices is not None:
            raise refused("`indices` means nothing for points", 'kind="lines", or "mesh"')
        return Points(**looks)
    _without({"most": looks.get("most")}, chosen, "all of its positions are joined")
    return (Lines if chosen == "lines" else Mesh)(indices=indices, **looks)


def _centres(shape: tuple[int, ...]) -> np.ndarray:
    """The centres of a grid's cells."""
    return np.stack(np.meshgrid(*(np.arange(n) + 0.5 for n in shape), indexing="ij"), axis=-1)


def _entry_shape(x: Any) -> tuple[int, ...] | None:
    """The shape of one entry of a field; None where only the shape of an array is known."""
    if isinstance(x, OverTime):
        return _entry_shape(x.source)
    if isinstance(x, Component):
        return ()
    return x.entry_shape if isinstance(x, Field) else None


def _kind(shape: tuple[int, ...], indices: Any, entry: tuple[int, ...] | None) -> str:
    if indices is not None:
        corners = read(indices, "`indices`").shape
        return "lines" if corners[-1] == 2 else "mesh"
    if entry not in (None, (), (2,), (3,)):
        raise refused(
            f"a view of entries of shape {entry} needs positions, or numbers with two axes",
            "one component, `x.get_scalar_field(…)`, or a function that gives an array",
        )
    if entry != () and len(shape) >= 2 and shape[-1] in (2, 3):
        return "points"
    if not entry and len(shape) == 2:
        return "grid"
    raise refused(
        f"a view of an array of shape {shape} needs positions, or two axes",
        "points are a field of vectors of 2 or 3 numbers, grids a field of numbers of shape (w, h)",
    )
