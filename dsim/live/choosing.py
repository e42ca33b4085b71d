"""The layer that suits a field, from its shape."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from matplotlib.colors import to_hex

from dsim.live.layers import Arrows, GridLayer, Layer, Lines, Mesh, Points
from dsim.live.numbers import name_of, read, refused

KINDS = ("points", "grid", "lines", "arrows", "mesh")
_COLOUR_MAP = "viridis"


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
    chosen = kind or _kind(shape, indices)
    if chosen not in KINDS:
        raise refused(f"`kind` is one of {', '.join(KINDS)}, not {kind!r}")
    name = name_of(x) or chosen
    plain, values = (_hex(color), None) if isinstance(color, str) else (None, color)
    looks = {"colormap": _COLOUR_MAP, **{k: v for k, v in looks.items() if v is not None}}
    if chosen == "grid":
        return [GridLayer(name=name, values=x, **looks)]
    looks = {"name": name, "at": x, "values": values, "color": plain, **looks}
    made: list[Layer] = [_MAKERS[chosen](looks, indices)]
    if arrows is not None:
        made.append(Arrows(name=name_of(arrows) or "arrows", at=x, vectors=arrows))
    return made


def _kind(shape: tuple[int, ...], indices: Any) -> str:
    if indices is not None:
        corners = read(indices, "`indices`").shape
        return "lines" if corners[-1] == 2 else "mesh"
    if len(shape) >= 2 and shape[-1] in (2, 3):
        return "points"
    if len(shape) == 2:
        return "grid"
    raise refused(
        f"a view of an array of shape {shape} needs positions, or two axes",
        "points are a field of vectors of 2 or 3 numbers, grids a field of numbers of shape (w, h)",
    )


def _hex(color: str) -> str:
    try:
        return to_hex(color)
    except ValueError:
        raise refused(f"there is no colour {color!r}", 'such as "tomato", "C0" or "#3070b0"') from None


_MAKERS: dict[str, Callable[[dict[str, Any], Any], Layer]] = {
    "points": lambda looks, _: Points(**looks),
    "lines": lambda looks, indices: Lines(indices=indices, **looks),
    "mesh": lambda looks, indices: Mesh(indices=indices, **looks),
}
