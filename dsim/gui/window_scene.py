"""A frame of a `GUI` as the layers of a view: shapes as they are, and what a page cannot draw as an image.

Positions are in pixels of the window. A layer belongs to its frame alone: it brings its looks along.
"""

from __future__ import annotations

from itertools import groupby, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dsim.gui.canvas import Canvas
from dsim.gui.display_list import (
    CircleShapes,
    DisplayList,
    ImageShape,
    LineShapes,
    Shape,
    TextShape,
    TriangleShapes,
)
from dsim.live.scene.encoding import Packer, shade_bytes
from dsim.live.scene.scene import Scene, ViewFrame

_MOST_LAYERS = 64  # each is a call of the graphics device
_LARGE = 1 / 8  # of the picture: not all devices have points as large
_CORNERS = 64  # of the polygon in the place of a large circle
_BITS = 16

Array = NDArray[np.float64]
Run = tuple[str, float, Array, Array, Array]  # kind, width of lines, places, diameters of points, colours


class WindowScene(Scene):
    """The picture of a window.

    Attributes
    ----------
    drawn : DisplayList
        What the next frame shows.
    """

    def __init__(self, title: str, res: tuple[int, int]) -> None:
        super().__init__((), title, [(0, res[0]), (0, res[1])])
        self.drawn = DisplayList()
        self._res = np.array(res, np.float64)
        self._canvas = Canvas(*res)

    def frame(self, number: int, step: int | None = None, text: str = "") -> ViewFrame:
        """The shapes of `drawn`."""
        packer = Packer()
        layers = self._layers(packer)
        return ViewFrame({"number": number, "step": step, "text": text, "layers": layers}, packer.buffer())

    def _layers(self, packer: Packer) -> list[dict[str, Any]]:
        back, shapes = self.drawn.background[None, None], self.drawn.shapes
        covered = shade_bytes(back)
        if shapes and isinstance(shapes[0], ImageShape):
            covered, shapes = _right_and_up(shapes[0].pixels), shapes[1:]
        runs = self._runs(shapes)
        if runs is None:
            covered, runs = _right_and_up(self.drawn.pixels(self._canvas)), []
        image = {"kind": "image", "color": None, "size": None, "arrays": {"colors": packer.plain(covered)}}
        return [image, *(self._layer(packer, *run) for run in runs)]

    def _runs(self, shapes: list[Shape]) -> list[Run] | None:
        """Shapes in order, as few layers; None for what no layers are like."""
        pieces: list[Run] = []
        for shape in shapes:
            if isinstance(shape, TextShape | ImageShape):
                return None
            found = self._pieces(shape)
            if found is None:
                return None
            pieces += found
        runs: list[Run] = []
        for (kind, width), group in groupby(pieces, key=lambda piece: piece[:2]):
            parts = zip(*(piece[2:] for piece in group), strict=True)
            places, sizes, colors = (np.concatenate(part) for part in parts)
            runs.append((kind, width, places, sizes, colors))
            if len(runs) > _MOST_LAYERS:
                return None
        return runs

    def _pieces(self, shape: CircleShapes | LineShapes | TriangleShapes) -> list[Run] | None:
        if isinstance(shape, CircleShapes):
            return self._circles(shape)
        if isinstance(shape, LineShapes):
            ends = np.stack([shape.begin, shape.end], axis=1) * self._res
            widths = np.broadcast_to(2.0 * np.abs(shape.radius), len(ends))
            return self._joined("lines", ends, widths, shape.colors)
        return self._joined("mesh", shape.corners * self._res, np.zeros(len(shape.corners)), shape.colors)

    def _joined(self, kind: str, ends: Array, widths: Array, colors: Array) -> list[Run] | None:
        """Lines or triangles, in runs of the same width."""
        finite = np.isfinite(ends)
        if (finite & ((ends < -self._res) | (ends > 2 * self._res))).any():
            return None  # too far out for the codes of positions: the picture would show another direction
        colors = np.repeat(np.broadcast_to(colors, (len(ends), 3)), ends.shape[1], axis=0)
        each, none = ends.shape[1], np.zeros(0)
        return [
            (kind, float(widths[a]), ends[a:b].reshape(-1, 2), none, colors[each * a : each * b])
            for a, b in _stretches(widths)
            if kind == "mesh" or widths[a] > 0
        ]

    def _circles(self, shape: CircleShapes) -> list[Run]:
        """Those that are in the picture: small ones as points, others as polygons."""
        centres = shape.centres * self._res
        radius = np.broadcast_to(np.abs(shape.radius), len(centres))
        inside = (centres > -radius[:, None]) & (centres < self._res + radius[:, None])
        seen = inside.all(1) & (radius > 0)
        centres, radius = centres[seen], radius[seen]
        colors = np.broadcast_to(shape.colors, (len(seen), 3))[seen]
        # A point whose centre is outside is not drawn at all.
        outside = ((centres < 0) | (centres > self._res)).any(1)
        large = outside | (2 * radius > _LARGE * self._res.min())
        return [
            _polygons(centres[a:b], radius[a:b], colors[a:b])
            if large[a]
            else ("points", 0.0, centres[a:b], 2 * radius[a:b], colors[a:b])
            for a, b in _stretches(large)
        ]

    def _layer(
        self, packer: Packer, kind: str, width: float, places: Array, sizes: Array, colors: Array
    ) -> dict[str, Any]:
        arrays = {"positions": packer.quantised(places, -self._res, 2 * self._res, _BITS)}
        shades = shade_bytes(colors)
        alone = bool((shades == shades[0]).all())
        if not alone:
            arrays["colors"] = packer.plain(shades)
        if kind == "points" and (sizes == sizes[0]).all():
            width = float(sizes[0])
        elif kind == "points":
            width, arrays["sizes"] = 1.0, packer.plain(sizes.astype(np.float32))
        color = "#" + bytes(shades[0]).hex() if alone else None
        return {"kind": kind, "color": color, "size": width, "arrays": arrays}


def _stretches(keys: NDArray[Any]) -> list[tuple[int, int]]:
    """The beginnings and ends of stretches of the same key."""
    if not len(keys):
        return []
    ends = [0, *(np.flatnonzero(keys[1:] != keys[:-1]) + 1).tolist(), len(keys)]
    return list(pairwise(ends))


def _polygons(centres: Array, radius: Array, colors: Array) -> Run:
    angles = np.linspace(0, 2 * np.pi, _CORNERS, endpoint=False)
    around = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    rim = centres[:, None] + radius[:, None, None] * around
    middle = np.broadcast_to(centres[:, None], rim.shape)
    triangles = np.stack([middle, rim, np.roll(rim, -1, axis=1)], axis=2)
    return "mesh", 0.0, triangles.reshape(-1, 2), np.zeros(0), np.repeat(colors, 3 * _CORNERS, axis=0)


def _right_and_up(pixels: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Rows from the top as pixels whose axis 0 is x and whose axis 1 is y upwards."""
    return pixels[::-1].transpose(1, 0, 2)
