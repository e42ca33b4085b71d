"""Fields in a notebook: type, shape, memory, range, and a picture of one or two axes."""

from __future__ import annotations

import base64
import io
import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from dsim.notebook.displays.tables import table
from dsim.notebook.report import figures
from dsim.notebook.tape import svg
from dsim.notebook.tape.data import thinned
from dsim.runtime.fields.components import Component
from dsim.runtime.fields.fields import Field
from dsim.runtime.fields.struct_fields import StructField

Bundle = dict[str, str]

_MOST = 2**24  # numbers whose range is computed
_POINTS = 256  # of a line
_PIXELS = 128  # along an axis of an image
_DASHES = ("none", "7 3", "2 3", "7 3 2 3")  # of the numbers of a vector
_WIDTH, _HEIGHT, _MARGIN = 240.0, 90.0, 6.0
_GREY = 128  # of what is not finite


def field_bundle(x: Field) -> Bundle:
    """The forms of a field, an ndarray, a gradient or a tangent."""
    rows = [("type", _type(x)), ("shape", _shape(x))]
    if x.offset:
        rows.append(("first index", str(x.offset)))
    drawing = ""
    if not x.placed:
        rows.append(("memory", "dropped by reset()" if x.root.dropped else "not placed yet"))
    else:
        values = x.array.reshape(x.full_shape)
        rows.append(("memory", f"{figures.size(values.nbytes)}, in the order of its axes"))
        rows += _range(values)
        drawing = _drawing(values, x.entry_shape)
    if not x.derivative and x.dtype.is_float:
        rows.append(("gradient", "yes: needs_grad=True" if x.needs_grad else "no"))
    title = x.name if x.root.given_name else x.word
    return {"text/plain": repr(x), "text/html": table(title, rows, drawing)}


def component_bundle(x: Component) -> Bundle:
    """The forms of a component of a field."""
    rows = [("type", x.dtype.name), ("shape", _shape(x))]
    drawing = ""
    if x.placed:
        values = x.to_numpy()
        rows += _range(values)
        drawing = _drawing(values, ())
    return {"text/plain": repr(x), "text/html": table(x.quoted.replace("`", ""), rows, drawing)}


def struct_bundle(x: StructField) -> Bundle:
    """The forms of a field of structs: its members."""
    rows = [("shape", str(x.shape))] if x.placed else [("memory", "not placed yet")]
    rows += _members(x)
    return {"text/plain": repr(x), "text/html": table(x.name or "struct field", rows)}


def _members(x: StructField, before: str = "") -> Iterator[tuple[str, str]]:
    for key in x.keys:
        member = x.get_member_field(key)
        if isinstance(member, StructField):
            yield from _members(member, f"{before}{key}.")
        else:
            yield f".{before}{key}", _type(member) + (", with a gradient" if member.needs_grad else "")


def _type(x: Field) -> str:
    kinds = ("{}", "vectors of {1} {0}", "{1} matrices of {0}")
    return kinds[len(x.entry_shape)].format(x.dtype.name, "×".join(map(str, x.entry_shape)))


def _shape(x: Field | Component) -> str:
    return f"{x.shape}, {figures.count(math.prod(x.shape), 'element')}" if x.shape else "()"


def _range(values: np.ndarray) -> Iterator[tuple[str, str]]:
    if not values.size:
        return
    if values.size > _MOST:
        yield "range", f"not computed: more than {_MOST:,} numbers"
        return
    finite = np.isfinite(values)
    if finite.all():
        yield "range", f"{figures.short(values.min())} to {figures.short(values.max())}"
        return
    good, missing = values[finite], int(np.isnan(values).sum())
    if good.size:
        yield "range", f"{figures.short(good.min())} to {figures.short(good.max())}, where finite"
    infinite = values.size - good.size - missing
    told = [f"{n:,} {what}" for n, what in ((missing, "NaN"), (infinite, "infinite")) if n]
    yield "not finite", f"{', '.join(told)} of {figures.count(values.size, 'number')}"


# ------------------------------------------------------------------ pictures


def _drawing(values: np.ndarray, entry: tuple[int, ...]) -> str:
    axes = values.ndim - len(entry)
    if not values.size:
        return ""
    if axes == 1 and values.shape[0] > 1 and (not entry or (len(entry) == 1 and entry[0] <= len(_DASHES))):
        return _curves(values.reshape(len(values), -1))
    if axes == 2 and not entry and min(values.shape) > 1:
        return _image(values)
    return ""


def _curves(values: np.ndarray) -> str:
    """A line for each column, over the index."""
    drawn = [_points(column) for column in values.T]
    found = np.concatenate([y[np.isfinite(y)] for _, y in drawn])
    if not found.size:
        return ""
    low, high = float(found.min()), float(found.max())
    tall, wide = (high - low) or 1.0, max(len(values) - 1, 1)
    parts = []
    for (x, y), colour, dash in zip(drawn, svg.COLOURS, _DASHES, strict=False):
        across = _MARGIN + (_WIDTH - 2 * _MARGIN) * x / wide
        up = _HEIGHT - _MARGIN - (_HEIGHT - 2 * _MARGIN) * ((y - low) / tall if high > low else 0.5 + 0 * y)
        for run in _runs(np.isfinite(y)):
            pairs = [f"{a:.1f},{b:.1f}" for a, b in zip(across[run], up[run], strict=True)]
            points = " ".join(pairs * 2 if len(pairs) == 1 else pairs)  # one alone is a dot
            style = {"stroke": colour, "stroke_dasharray": dash, "stroke_linecap": "round"}
            parts.append(svg.element("polyline", points=points, fill="none", stroke_width=1.5, **style))
    names = "; of vectors the first number is solid, the others are dashed" if values.shape[1] > 1 else ""
    title = f"values over the index, from {figures.short(low)} to {figures.short(high)}{names}"
    return svg.picture(_WIDTH, _HEIGHT, title, parts)


def _points(column: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Fewer points, among them the peaks and dips."""
    y = column.astype(np.float64)
    at = thinned(y, _POINTS)
    return at, y[at]


def _runs(good: np.ndarray) -> Iterator[slice]:
    """The stretches of True."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], good, [False]]).astype(np.int8)))
    for begin, end in edges.reshape(-1, 2).tolist():
        yield slice(begin, end)


def _image(values: np.ndarray) -> str:
    """The first index to the right, the second one up."""
    from matplotlib import colormaps  # noqa: PLC0415 (takes long)
    from PIL import Image  # noqa: PLC0415 (takes long)

    step = max(1, -(-max(values.shape) // _PIXELS))
    some = values[::step, ::step].astype(np.float64)
    finite = np.isfinite(some)
    if not finite.any():
        return ""
    low, high = float(some[finite].min()), float(some[finite].max())
    scaled = np.where(finite, (some - low) / ((high - low) or 1.0), 0.0)
    pixels = colormaps["viridis"](scaled, bytes=True)[..., :3]
    pixels[~finite] = _GREY
    file = io.BytesIO()
    Image.fromarray(np.ascontiguousarray(pixels.transpose(1, 0, 2)[::-1])).save(file, "PNG")
    wide, tall = some.shape
    scale = max(1, int(_WIDTH // max(wide, tall)))
    ends = f"from {figures.short(low)}, dark, to {figures.short(high)}, bright"
    told = f"values {ends}; the first index to the right"
    picture: dict[str, Any] = {
        "src": f"data:image/png;base64,{base64.b64encode(file.getvalue()).decode()}",
        "alt": told + ("" if step == 1 else f"; every {step}th element"),
        "title": told,
        "width": wide * scale,
        "height": tall * scale,
        "style": "image-rendering:pixelated;max-width:100%;margin:0",
    }
    return svg.element("img", **picture)
