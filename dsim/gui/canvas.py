"""A picture drawn shape by shape: matplotlib's Agg rasteriser over the unit square.

Positions run from (0, 0) at the lower left to (1, 1) at the upper right; sizes are pixels.
"""

from __future__ import annotations

import numpy as np
from matplotlib.artist import Artist
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import EllipseCollection, LineCollection, PolyCollection
from matplotlib.figure import Figure
from numpy.typing import NDArray

Positions = NDArray[np.float64]
Colors = NDArray[np.float64]

_PIXELS_PER_INCH = 72  # makes one point of matplotlib one pixel
# The edges of neighbours cover their pixels in part, and the background would be seen between them.
_SEAM = 0.6  # pixels


class Canvas:
    """A picture of `width` × `height` pixels."""

    def __init__(self, width: int, height: int) -> None:
        self.width, self.height = width, height
        self._figure = Figure((width / _PIXELS_PER_INCH, height / _PIXELS_PER_INCH), dpi=_PIXELS_PER_INCH)
        self._agg = FigureCanvasAgg(self._figure)
        self._axes = self._figure.add_axes((0.0, 0.0, 1.0, 1.0))
        self._axes.set_axis_off()
        self._axes.set_xlim(0, 1)
        self._axes.set_ylim(0, 1)
        self._shapes: list[Artist] = []

    def clear(self, rgb: Colors) -> None:
        """Removes all shapes and fills the picture with one colour."""
        for shape in self._shapes:
            shape.remove()
        self._shapes.clear()
        self._figure.set_facecolor(tuple(rgb))

    def circles(self, centres: Positions, radius: NDArray[np.float64], colors: Colors) -> None:
        """Filled circles at `centres` (n, 2); `radius` (n,) or (1,) in pixels."""
        across = np.broadcast_to(2.0 * radius, len(centres))
        self._add(
            EllipseCollection(
                across, across, np.zeros(len(centres)), units="dots", facecolors=colors, edgecolors="none",
                offsets=centres, offset_transform=self._axes.transData,
            )
        )  # fmt: skip

    def lines(self, begin: Positions, end: Positions, radius: NDArray[np.float64], colors: Colors) -> None:
        """Straight lines from `begin` to `end`, both (n, 2), with a width of twice `radius` pixels."""
        ends = np.stack([begin, end], axis=1)
        self._add(LineCollection(list(ends), linewidths=list(2.0 * radius), colors=colors, capstyle="round"))

    def polygons(self, corners: Positions, colors: Colors) -> None:
        """Filled polygons; `corners` (n, corners of each, 2)."""
        looks = {"edgecolors": "face", "linewidths": _SEAM, "joinstyle": "round"}
        self._add(PolyCollection(list(corners), facecolors=colors, **looks))

    def text(self, content: str, upper_left: Positions, size: float, rgb: Colors) -> None:
        """A text whose upper left corner is given; `size` in pixels. Dollar signs are literal."""
        x, y = upper_left
        shape = self._axes.text(x, y, content, fontsize=size, color=tuple(rgb), va="top", parse_math=False)
        self._keep(shape)

    def image(self, pixels: NDArray[np.uint8]) -> None:
        """Covers the picture with `pixels` (height, width, 3), the top row first."""
        background = np.asarray(self._figure.get_facecolor())[:3]
        self.clear(background)
        self._keep(self._figure.figimage(pixels, origin="upper"))

    def pixels(self) -> NDArray[np.uint8]:
        """The picture (height, width, 3), the top row first."""
        self._agg.draw()
        return np.array(self._agg.buffer_rgba())[:, :, :3].copy()

    def _add(self, shape: Artist) -> None:
        self._axes.add_artist(shape)
        self._keep(shape)

    def _keep(self, shape: Artist) -> None:
        """Adds a shape above all earlier ones, whatever their kind."""
        shape.set_zorder(len(self._shapes))
        self._shapes.append(shape)
