"""A frame of a scene drawn by matplotlib: for files, and for pages that have no kernel."""

from __future__ import annotations

import base64
import io
import textwrap
from collections.abc import Callable
from typing import Any

import matplotlib as mpl
import numpy as np
import PIL.Image
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.cm import ScalarMappable
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from mpl_toolkits.mplot3d.art3d import Line3DCollection, Poly3DCollection

from dsim.live.scene.encoding import unpacked
from dsim.live.scene.scene import ViewFrame

_COLOURS = (
    "#3d7fc4",
    "#c2621b",
    "#3f8f4f",
    "#9a62c0",
    "#b8505a",
)  # of layers, in turn, as in `page/painting/shades.js`
_COLOURS_OF_A_PAGE = 256
_INK = "#1b1b1b"  # of lines and arrows
_THIN = "lines", "arrows"
_MISSING = "#808080"
_POINT, _LINE = 4.0, 1.5  # pixels
_DOTS = 100  # an inch
_MOST_LINES = 3  # of a title
_PER_PIXEL = 72 / 96  # points of a printer in a pixel of a page
_SEAM = 0.5  # points: what lies behind a mesh would be seen between the smoothed edges of neighbours


def figure(scene: dict[str, Any], frame: ViewFrame) -> Figure:
    """A frame as a figure of 640 × 480 pixels.

    Parameters
    ----------
    scene : dict
        The scene, as the page gets it.
    frame : ViewFrame
        The numbers.
    """
    made = Figure(figsize=(6.4, 4.8), dpi=_DOTS, layout="constrained")
    flat = scene["dimensions"] == 2
    axes: Any = made.add_subplot(projection=None if flat else "3d")
    paint(axes, made, scene, frame)
    head(made, _caption(scene["title"], frame.header))
    return made


def paint(axes: Any, made: Any, scene: dict[str, Any], frame: ViewFrame, colorbars: bool = True) -> None:
    """Draws a frame into the axes of a figure, with the bars of its colours beside them."""
    for number, (layer, told) in enumerate(zip(scene["layers"], frame.header["layers"], strict=True)):
        arrays = {name: unpacked(each, frame.data) for name, each in told["arrays"].items()}
        shades = _shades(layer, told["arrays"])
        colours = layer["color"] or (_INK if layer["kind"] in _THIN else _COLOURS[number % len(_COLOURS)])
        if shades is not None:
            if colorbars:
                made.colorbar(shades, ax=axes, shrink=0.8).set_label(layer["shows"], parse_math=False)
            colours = shades.to_rgba(np.ma.masked_invalid(arrays["values"]))
        artist = _DRAWN[layer["kind"]](axes, layer, arrays, colours, scene["bounds"])
        if artist is not None:
            artist.set_zorder(number + 1)  # layers go from the back to the front
    _framed(axes, scene["bounds"])


def png(scene: dict[str, Any], frame: ViewFrame) -> bytes:
    """A frame as a PNG file."""
    file = io.BytesIO()
    _pixels(figure(scene, frame)).save(file, format="png", dpi=(_DOTS, _DOTS))
    return file.getvalue()


def still(scene: dict[str, Any], frame: ViewFrame) -> bytes:
    """A frame as the PNG that a notebook keeps."""
    return kept(figure(scene, frame))


def kept(made: Figure) -> bytes:
    """A figure as a PNG of at most 256 colours, which takes a third of the bytes in a notebook."""
    file = io.BytesIO()
    # Not dithered: patterns would make the file larger again.
    few = _pixels(made).quantize(_COLOURS_OF_A_PAGE, dither=PIL.Image.Dither.NONE)
    few.save(file, format="png", optimize=True)
    return file.getvalue()


def _pixels(made: Figure) -> PIL.Image.Image:
    """A figure, drawn once: `savefig` draws it once more before, for its layout."""
    canvas = FigureCanvasAgg(made)
    canvas.draw()
    return PIL.Image.fromarray(np.asarray(canvas.buffer_rgba())).convert("RGB")


def head(made: Figure, text: str, **looks: Any) -> None:
    """Writes a title over a figure, in as many lines as it needs, at most three."""
    title = made.suptitle(text, parse_math=False, **looks)
    letters = len(text)
    while letters > 1 and (across := title.get_window_extent().width) > made.bbox.width:
        letters = min(letters - 1, int(letters * made.bbox.width / across))
        title.set_text(textwrap.fill(text, letters, max_lines=_MOST_LINES, placeholder=" …"))


def _caption(title: str, header: dict[str, Any]) -> str:
    step = "" if header["step"] is None else f"step {header['step']}"
    return "   ".join(part for part in (title, step, header["text"], header.get("note")) if part)


def _shades(layer: dict[str, Any], arrays: dict[str, Any]) -> ScalarMappable | None:
    """The colour map between its limits; None for a layer of one colour."""
    if "values" not in arrays:
        return None
    low, high = layer["limits"] or (arrays["values"]["low"], arrays["values"]["high"])
    return ScalarMappable(Normalize(low, high), mpl.colormaps[layer["map"]].with_extremes(bad=_MISSING))


def _framed(axes: Any, bounds: list[list[float]]) -> None:
    for name, (low, high) in zip("xyz", bounds, strict=False):
        getattr(axes, f"set_{name}lim")(low, high)
    if len(bounds) == 2:
        axes.set_aspect("equal")
    else:
        axes.set_box_aspect([high - low for low, high in bounds])
        axes.view_init(elev=20, azim=30, vertical_axis="y")  # as the page's camera


# -- the kinds of layers; `colours` is one, or one for each position or cell


def _points(axes: Any, layer: Any, arrays: Any, colours: Any, bounds: Any) -> Any:
    area = ((layer["size"] or _POINT) * _PER_PIXEL) ** 2
    deep = {} if len(bounds) == 2 else {"depthshade": False}  # a colour is a number, wherever it is
    return axes.scatter(*arrays["positions"].T, s=area, c=colours, linewidths=0, **deep)


def _grid(axes: Any, layer: Any, arrays: Any, colours: Any, bounds: Any) -> Any:
    extent = tuple(end for limits in layer.get("box", bounds) for end in limits)
    return axes.imshow(colours.swapaxes(0, 1), origin="lower", extent=extent, interpolation="nearest")


def _image(axes: Any, layer: Any, arrays: Any, colours: Any, bounds: Any) -> Any:
    return _grid(axes, layer, arrays, arrays["colors"], bounds)


def _arrows(axes: Any, layer: Any, arrays: Any, colours: Any, bounds: Any) -> Any:
    at, vectors = arrays["positions"], arrays["vectors"]
    drawn = np.isfinite(at).all(1) & np.isfinite(vectors).all(1) & vectors.any(1)
    if not drawn.any():
        return None
    colours = colours if isinstance(colours, str) else colours[drawn]
    if at.shape[1] == 3:
        heads = {} if isinstance(colours, str) else {"colors": colours}
        looks = heads or {"color": colours}
        return axes.quiver(*at[drawn].T, *vectors[drawn].T, **looks, arrow_length_ratio=0.3)
    exact = {"angles": "xy", "scale_units": "xy", "scale": 1, "units": "dots"}
    return axes.quiver(*at[drawn].T, *vectors[drawn].T, color=colours, width=layer["size"] or _LINE, **exact)


def _lines(axes: Any, layer: Any, arrays: Any, colours: Any, bounds: Any) -> Any:
    return _joined(axes, layer, arrays, colours, (LineCollection, Line3DCollection), "colors")


def _mesh(axes: Any, layer: Any, arrays: Any, colours: Any, bounds: Any) -> Any:
    return _joined(axes, layer, arrays, colours, (PolyCollection, Poly3DCollection), "facecolors")


def _joined(axes: Any, layer: Any, arrays: Any, colours: Any, kinds: Any, colouring: str) -> Any:
    """Lines or triangles, each in the mean colour of its ends; those without a place are left out."""
    indices = corners(layer)
    ends = arrays["positions"][indices]
    drawn = np.isfinite(ends).all((1, 2))
    if not drawn.any():
        return None
    each = colours if isinstance(colours, str) else colours[indices[drawn]].mean(1)
    flat = ends.shape[2] == 2
    looks: dict[str, Any] = {"edgecolors": each, "linewidths": _SEAM, "joinstyle": "round"}
    if layer["kind"] == "lines":
        looks = {"linewidths": (layer["size"] or _LINE) * _PER_PIXEL}
    made = kinds[0 if flat else 1](ends[drawn], **{colouring: each}, **looks)
    return (axes.add_collection if flat else axes.add_collection3d)(made)


def corners(layer: dict[str, Any]) -> np.ndarray:
    """Which positions a layer of a scene joins, each line or triangle in a row."""
    told = layer["indices"]
    return np.frombuffer(base64.b64decode(told["data"]), "<u4").reshape(told["shape"])


_DRAWN: dict[str, Callable[..., Any]] = {
    "points": _points, "grid": _grid, "image": _image, "arrows": _arrows, "lines": _lines, "mesh": _mesh,
}  # fmt: skip
