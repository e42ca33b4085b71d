"""Taichi's drawing calls, as shapes of a display list; independent of frames, windows and events."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib import colormaps
from numpy.typing import ArrayLike, NDArray

from dsim.gui import colors
from dsim.gui.canvas import Canvas
from dsim.gui.display_list import CircleShapes, DisplayList, ImageShape, LineShapes, TextShape, TriangleShapes
from dsim.live.scene.numbers import refused


class Drawing:
    """A picture of `res` pixels to draw shapes and images on, from (0, 0) at its lower left to (1, 1)."""

    def __init__(self, res: tuple[int, int], background_color: int) -> None:
        self.res = res
        self.background_color = background_color
        self._canvas = Canvas(*res)
        self.clear()

    # shapes

    def circle(self, pos: ArrayLike, color: int = 0xFFFFFF, radius: float = 1) -> None:
        """A filled circle; `pos` in the unit square, `radius` in pixels."""
        self.circles(np.atleast_2d(np.asarray(pos)), radius, color)

    def circles(
        self,
        pos: Any,
        radius: Any = 1,
        color: Any = 0xFFFFFF,
        palette: Sequence[int] | None = None,
        palette_indices: Any = None,
    ) -> None:
        """Filled circles.

        Parameters
        ----------
        pos : array_like or field, shape (n, 2)
            Centres, in the unit square.
        radius : float or array_like, shape (n,)
            In pixels.
        color : int or array_like of int, shape (n,)
            ``0xRRGGBB``.
        palette : sequence of int, optional
            Colours to choose from, by `palette_indices` (array_like or field, shape (n,)).
        """
        centres = _positions(pos)
        chosen = None if palette_indices is None else _array(palette_indices)
        rgb = colors.of_shapes(len(centres), _array(color), palette, chosen)
        self._drawn.add(CircleShapes(centres, _sizes(radius, len(centres)), rgb))

    def line(self, begin: ArrayLike, end: ArrayLike, radius: float = 1, color: int = 0xFFFFFF) -> None:
        """A straight line with a width of twice `radius` pixels."""
        self.lines(np.atleast_2d(np.asarray(begin)), np.atleast_2d(np.asarray(end)), radius, color)

    def lines(self, begin: Any, end: Any, radius: Any = 1, color: Any = 0xFFFFFF) -> None:
        """Straight lines from `begin` to `end`, both of shape (n, 2); `radius` and `color` one or n."""
        a, b = _positions(begin), _positions(end)
        if a.shape != b.shape:
            raise refused(
                f"lines begin at {len(a)} places and end at {len(b)}", "give as many ends as beginnings"
            )
        rgb = colors.of_shapes(len(a), _array(color))
        self._drawn.add(LineShapes(a, b, _sizes(radius, len(a)), rgb))

    def triangle(self, a: ArrayLike, b: ArrayLike, c: ArrayLike, color: int = 0xFFFFFF) -> None:
        """A filled triangle with corners `a`, `b`, `c`."""
        self.triangles(*(np.atleast_2d(np.asarray(corner)) for corner in (a, b, c)), color=color)

    def triangles(self, a: Any, b: Any, c: Any, color: Any = 0xFFFFFF) -> None:
        """Filled triangles; corners `a`, `b`, `c` of shape (n, 2) each, `color` one or n."""
        corners = np.stack([_positions(a), _positions(b), _positions(c)], axis=1)
        self._drawn.add(TriangleShapes(corners, colors.of_shapes(len(corners), _array(color))))

    def rect(
        self, topleft: Sequence[float], bottomright: Sequence[float], radius: float = 1, color: int = 0xFFFFFF
    ) -> None:
        """The outline of a rectangle with a line width of twice `radius` pixels."""
        (left, top), (right, bottom) = topleft, bottomright
        corners = np.array([[left, top], [right, top], [right, bottom], [left, bottom]])
        self.lines(corners, np.roll(corners, -1, axis=0), radius, color)

    def arrow(
        self,
        orig: ArrayLike,
        direction: ArrayLike,
        radius: float = 1,
        color: int = 0xFFFFFF,
        *,
        tip_scale: float = 0.2,
        angle: float = 45,
    ) -> None:
        """An arrow from `orig` to `orig` + `direction`; see `arrows`."""
        begin, along = np.atleast_2d(np.asarray(orig)), np.atleast_2d(np.asarray(direction))
        self.arrows(begin, along, radius, color, tip_scale=tip_scale, angle=angle)

    def arrows(
        self,
        orig: Any,
        direction: Any,
        radius: Any = 1,
        color: Any = 0xFFFFFF,
        *,
        tip_scale: float = 0.2,
        angle: float = 45,
    ) -> None:
        """Arrows from `orig` to `orig` + `direction`, both of shape (n, 2).

        The two lines of a head are `tip_scale` times as long as the arrow, and `angle` degrees away from it.
        """
        begin, along = _positions(orig), _positions(direction)
        end, turned = begin + along, along[:, ::-1] * [-1.0, 1.0]
        back, aside = (tip_scale * f(np.radians(angle)) for f in (np.cos, np.sin))
        self.lines(begin, end, radius, color)
        self.lines(end, end - back * along + aside * turned, radius, color)
        self.lines(end, end - back * along - aside * turned, radius, color)

    # values on a grid

    def point_field(self, radius: Any, color: Any = 0xFFFFFF, bound: float = 0.5) -> None:
        """Circles of the radii `radius`, of shape (columns, rows), in columns and rows that fill the picture.

        `bound` is the distance of the outer ones from the edge, in grid spacings.
        """
        sizes = _array(radius)
        if sizes.ndim != 2:
            raise refused(
                f"a field of points has two axes, not the shape {sizes.shape}",
                "as (columns, rows)",
            )
        self.circles(_grid(sizes.shape, bound), sizes.ravel(), color)

    def arrow_field(
        self, direction: Any, radius: Any = 1, color: Any = 0xFFFFFF, bound: float = 0.5, **head: float
    ) -> None:
        """Arrows in rows and columns that fill the picture; `direction` of shape (columns, rows, 2).

        `bound` is as in `point_field`, `head` as in `arrows`.
        """
        along = _vectors(direction)
        self.arrows(_grid(along.shape, bound), along.reshape(-1, 2), radius, color, **head)

    def vector_field(self, vector_field: Any, arrow_spacing: int = 5, color: Any = 0xFFFFFF) -> None:
        """Some vectors of a field of shape (columns, rows, 2) as arrows, the longest a tenth long."""
        values = _vectors(vector_field)
        width, height = values.shape[:2]
        some = values[::arrow_spacing, ::arrow_spacing]
        x, y = np.arange(0, width, arrow_spacing) / width, np.arange(0, height, arrow_spacing) / height
        longest = np.linalg.norm(values, axis=-1).max(initial=0.0)
        along = some.reshape(-1, 2) * (0.1 / longest if longest > 0 else 0.0)
        self.arrows(np.stack(np.meshgrid(x, y, indexing="ij"), axis=-1).reshape(-1, 2), along, 1, color)

    def contour(self, scalar_field: Any, normalize: bool = False) -> None:
        """Covers the picture with the values of a field of two axes, in colours from dark blue to yellow.

        The colours span values from 0 to 1; with `normalize`, from the least to the greatest. A field of
        another size than the picture is interpolated.
        """
        values = _array(scalar_field).astype(np.float64)
        if values.ndim != 2 or values.size == 0:
            raise refused(
                f"a contour plot has two axes, not the shape {values.shape}",
                "as (columns, rows)",
            )
        values = _resized(values, self.res)
        if normalize:
            low, high = values.min(), values.max()
            values = (values - low) / (high - low) if high > low else np.zeros_like(values)
        self.set_image(colormaps["plasma"](values)[:, :, :3])

    def text(self, content: str, pos: ArrayLike, font_size: float = 15, color: int = 0xFFFFFF) -> None:
        """A line of text whose upper left corner is at `pos`."""
        self._drawn.add(TextShape(content, _positions(pos)[0], font_size, colors.hex_to_rgb(color)))

    # images

    def set_image(self, img: Any) -> None:
        """Covers the picture with `img`; later shapes are drawn above it.

        Parameters
        ----------
        img : array_like or field, shape (width, height) or (width, height, 1 to 4)
            The first index points right and the second one up, as in Taichi. Floats range from 0 to
            1, unsigned integers from 0 to the greatest of their type. One number a pixel is a grey, two
            are red and green.

        Raises
        ------
        ArgumentError
            When its size differs from that of the picture.
        TypeError
            When its values are signed integers.
        """
        values = _array(img)
        if values.shape[:2] != self.res or values.shape[2:] not in ((), (1,), (2,), (3,), (4,)):
            raise refused(
                f"an image of shape {values.shape} does not fit a picture of {self.res} pixels",
                "`ds.tools.imresize` resizes it, and `GUI(res=…)` the picture",
            )
        pixels = colors.to_bytes(values.reshape(*self.res, -1)[:, :, :3])
        if pixels.shape[2] == 2:
            pixels = np.concatenate([pixels, np.zeros_like(pixels[:, :, :1])], axis=2)
        rows = np.broadcast_to(pixels.transpose(1, 0, 2)[::-1], (*self.res[::-1], 3))
        self._drawn.add(ImageShape(rows.copy()))

    def get_image(self) -> NDArray[np.float32]:
        """The picture so far: shape (width, height, 4), 0 to 1, indexed as in `set_image`."""
        pixels = self._drawn.pixels(self._canvas)[::-1].transpose(1, 0, 2).astype(np.float32) / 255
        opaque = np.ones((*self.res, 1), np.float32)
        return np.concatenate([pixels, opaque], axis=2, dtype=np.float32)

    def clear(self, color: int | None = None) -> None:
        """Clears the picture to `color` (`background_color` by default)."""
        self._drawn = DisplayList(colors.hex_to_rgb(self.background_color if color is None else color))


def _array(values: Any) -> NDArray[Any]:
    """`values`, of a field too, as an array."""
    return values.to_numpy() if hasattr(values, "to_numpy") else np.asarray(values)


def _positions(values: Any) -> NDArray[np.float64]:
    """`values` as positions (n, 2); drops the third coordinate."""
    points = np.atleast_2d(_array(values).astype(np.float64))
    if points.ndim != 2 or points.shape[1] not in (2, 3):
        raise refused(f"positions have the shape (n, 2), not {points.shape}", "`a.reshape(-1, 2)`")
    return points[:, :2]


def _sizes(radius: Any, count: int) -> NDArray[np.float64]:
    """`radius` as an array of one or `count` numbers."""
    sizes = np.atleast_1d(_array(radius).astype(np.float64)).ravel()
    if len(sizes) not in (1, count):
        raise refused(f"{len(sizes)} radii for {count} shapes", "give one, or one for each")
    return sizes


def _vectors(values: Any) -> NDArray[np.float64]:
    """`values` as vectors in the plane, on a grid."""
    found = _array(values).astype(np.float64)
    if found.ndim != 3 or found.shape[2] != 2:
        raise refused(
            f"a field of vectors in the plane has the shape (columns, rows, 2), not {found.shape}",
            "give two numbers for each place",
        )
    return found


def _grid(shape: tuple[int, ...], bound: float) -> NDArray[np.float64]:
    """Positions on a grid with the first two axes of `shape`, column by column."""
    x, y = (np.linspace(bound / n, 1.0 - bound / n, n) for n in shape[:2])
    return np.stack(np.meshgrid(x, y, indexing="ij"), axis=-1).reshape(-1, 2)


def _resized(values: NDArray[np.float64], size: tuple[int, int]) -> NDArray[np.float64]:
    """`values` on a grid of another size, interpolated along one axis after the other."""
    for axis, n in enumerate(size):
        at = np.linspace(0.0, values.shape[axis] - 1.0, n)
        below = at.astype(np.int64)
        share = np.expand_dims(at - below, 1 - axis)
        above = np.minimum(below + 1, values.shape[axis] - 1)
        values = np.take(values, below, axis) * (1.0 - share) + np.take(values, above, axis) * share
    return values
