"""What a view draws from arrays: each kind of layer, and the arrays of one frame of it."""

from __future__ import annotations

import base64
import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dsim.live.scene.encoding import Packer, limits_of, shade_bytes
from dsim.live.scene.looks import ends_of_map, hex_colour, pixels
from dsim.live.scene.numbers import name_of, read, refused
from dsim.live.scene.over_time import OverTime, everything
from dsim.live.scene.thinning import MOST, checked_most, sample

Bounds = list[list[float]]
_PLACES, _SHADES = 16, 8  # bits
_GREY = 128  # what is not finite, as in grids


@dataclass(kw_only=True)
class Layer:
    """What all layers have.

    Attributes
    ----------
    name : str
        What messages, the legend and screen readers call it.
    values : field, array or callable, optional
        The numbers that colour it.
    color : str or None
        Its one colour, without `values`: a name of matplotlib's, or ``#rrggbb``.
    colormap : str
        The map of `values`, one of matplotlib's.
    limits : (float, float) or None
        The numbers at the ends of the map; None takes those of each frame.
    size : float or None
        Pixels across.
    drag, paint : bool
        Whether a person can move its points, or set its cells.
    sample : ndarray or None
        The numbers of the positions that the last frame has, where those are not all.
    count : int
        How many positions there were then.
    """

    kind = ""
    name: str
    values: Any = None
    color: str | None = None
    colormap: str = "viridis"
    limits: tuple[float, float] | None = None
    size: float | None = None
    drag: bool = False
    paint: bool = False
    sample: np.ndarray | None = field(default=None, init=False)
    count: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        self.color = None if self.color is None else hex_colour(self.color)
        self.limits = None if self.limits is None else ends_of_map(self.limits)
        self.size = None if self.size is None else pixels(self.size)

    def scene(self) -> dict[str, Any]:
        """What never changes of it, as JSON."""
        return {
            "kind": self.kind, "name": self.name, "label": self.name, "color": self.color,
            "shows": name_of(self.values) or self.name,
            "map": None if self.values is None else self.colormap, "limits": self.limits,
            "size": self.size, "drag": self.drag, "paint": self.paint,
        }  # fmt: skip

    def bounds(self) -> Bounds | None:
        """The box that its present numbers need; None where others decide."""
        return None

    def arrays(self, packer: Packer, bounds: Bounds) -> dict[str, Any]:
        """Its present numbers, as the JSON that describes their arrays in the buffer."""
        raise NotImplementedError

    def _shades(self, packer: Packer, shape: tuple[int, ...]) -> dict[str, Any]:
        """The array of `values`, one for each entry of `shape`, in a row."""
        if self.values is None:
            return {}
        values = read(self.values, f"the colour of {self.name!r}")
        if values.shape != shape:
            raise refused(
                f"the colour of {self.name!r} has the shape {values.shape}, not {shape}",
                "one number for each: `color=` a field of the same shape, or a function that gives one",
            )
        return self._coloured(packer, self._sampled(values.ravel()))

    def _sampled(self, rows: np.ndarray) -> np.ndarray:
        """Those that are drawn."""
        return rows if self.sample is None else rows[self.sample]

    def _coloured(self, packer: Packer, values: np.ndarray) -> dict[str, Any]:
        low, high = self.limits or self._range(values)
        return {"values": packer.quantised(values, low, high, _SHADES)}

    def _range(self, values: np.ndarray) -> tuple[float, float]:
        """The ends of the map where nobody gave them: those of all steps, or of `values`."""
        return self.values.limits if isinstance(self.values, OverTime) else limits_of(values)

    def _vectors(self, source: Any, axes: int = 0) -> np.ndarray:
        """Vectors of `axes` numbers, which are along the last axis; 0 for 2 or 3."""
        found = read(source, f"{self.name!r}")
        if found.ndim < 2 or found.shape[-1] not in (2, 3) or (axes and found.shape[-1] != axes):
            wanted = f"vectors of {axes or '2 or 3'} numbers"
            raise refused(
                f"{self.name!r} takes {wanted}, not an array of shape {found.shape}",
                "a field of vectors, or an array with the vectors along its last axis",
            )
        return found


@dataclass(kw_only=True)
class Placed(Layer):
    """What has positions.

    Attributes
    ----------
    drawn : int
        How many finite positions the last frame has.
    outside : int
        How many of these are outside of the picture.
    nowhere : int
        How many positions are not finite.
    gaps : bool
        Whether those are meant so: nobody is told of them.
    """

    at: Any
    gaps: bool = False
    drawn: int = field(default=0, init=False)
    outside: int = field(default=0, init=False)
    nowhere: int = field(default=0, init=False)

    def bounds(self) -> Bounds | None:
        """The box around the positions, of all steps where there are such."""
        return box(self._vectors(everything(self.at)))

    def arrays(self, packer: Packer, bounds: Bounds) -> dict[str, Any]:
        """Positions, and values by which they are coloured."""
        at = self._vectors(self.at, len(bounds))
        low, high = np.array(bounds, np.float64).T
        margin = high - low  # what is dragged or flies out is still placed, outside of the picture
        self._choose(math.prod(at.shape[:-1]))
        rows = self._sampled(_rows(at))
        finite = rows[np.isfinite(rows).all(axis=1)]
        self.drawn, self.nowhere = len(finite), len(rows) - len(finite)
        self.outside = int(((finite < low) | (finite > high)).any(axis=1).sum())
        placed = packer.quantised(rows, low - margin, high + margin, _PLACES)
        return {"positions": placed, **self._shades(packer, at.shape[:-1])}

    def _choose(self, count: int) -> None:
        """All of `count` positions are drawn."""
        self.count = count


@dataclass(kw_only=True)
class Sampled(Placed):
    """What stands for itself, so that some of very many can be drawn.

    Attributes
    ----------
    most : int
        How many are drawn.
    """

    most: int = MOST

    def __post_init__(self) -> None:
        super().__post_init__()
        self.most = checked_most(self.most)

    def _choose(self, count: int) -> None:
        self.count, self.sample = count, sample(count, self.most)


@dataclass(kw_only=True)
class Points(Sampled):
    """A disc at each position."""

    kind = "points"


@dataclass(kw_only=True)
class GridLayer(Layer):
    """A coloured cell for each number of an array with two axes: axis 0 is x, axis 1 is y upwards."""

    kind = "grid"

    def bounds(self) -> Bounds | None:
        """A unit for each cell."""
        return [[0.0, float(n)] for n in self._numbers().shape]

    def _numbers(self) -> np.ndarray:
        found = read(self.values, f"{self.name!r}")
        if found.ndim != 2:
            raise refused(
                f"{self.name!r} takes an array with two axes, not one of shape {found.shape}",
                "give one plane of it, as by `lambda: x.to_numpy()[0]`",
            )
        if not found.size:
            raise refused(
                f"{self.name!r} has no cells: its shape is {found.shape}", "give it one along each axis"
            )
        return found

    def arrays(self, packer: Packer, bounds: Bounds) -> dict[str, Any]:
        """The values."""
        return self._coloured(packer, self._numbers())


@dataclass(kw_only=True)
class ImageLayer(Layer):
    """A picture of pixels, each with a colour of its own; it fills the bounds.

    Attributes
    ----------
    pixels : field, array or callable
        Red, green and blue of each, of shape (w, h, 3): numbers from 0 to 1, or bytes. Axis 0 is x, axis 1
        is y upwards. Pixels with a number that is not finite are grey.
    unknown : int
        How many of these the last frame has.
    """

    kind = "image"
    pixels: Any
    unknown: int = field(default=0, init=False)

    def bounds(self) -> Bounds | None:
        """A unit for each pixel."""
        return [[0.0, float(n)] for n in self._bytes().shape[:2]]

    def arrays(self, packer: Packer, bounds: Bounds) -> dict[str, Any]:
        """The colours."""
        return {"colors": packer.plain(self._bytes())}

    def _bytes(self) -> np.ndarray:
        found = read(self.pixels, f"{self.name!r}")
        if found.ndim != 3 or found.shape[2] != 3 or (found.dtype.kind != "f" and found.dtype != np.uint8):
            raise refused(
                f"the image {self.name!r} takes red, green and blue of each pixel, "
                f"not {found.dtype} of shape {found.shape}",
                "numbers from 0 to 1, or `uint8`, of shape (w, h, 3)",
            )
        self.count, self.unknown = found.shape[0] * found.shape[1], 0
        if found.dtype == np.uint8:
            return found
        shades, unknown = shade_bytes(found), ~np.isfinite(found).all(axis=2)
        shades[unknown], self.unknown = _GREY, int(unknown.sum())
        return shades


@dataclass(kw_only=True)
class Arrows(Sampled):
    """An arrow from each position; its length in the picture is `scale` times that of the vector."""

    kind = "arrows"
    vectors: Any
    scale: float | None = None

    def arrays(self, packer: Packer, bounds: Bounds) -> dict[str, Any]:
        """Beginnings, and the vectors between beginnings and tips."""
        placed = super().arrays(packer, bounds)
        vectors = _rows(self._vectors(self.vectors, len(bounds)))
        if len(vectors) != self.count:
            raise refused(
                f"{self.name!r} has {len(vectors):,} arrows for {self.count:,} positions", "one for each"
            )
        vectors = self._sampled(vectors)
        with np.errstate(all="ignore"):  # what is too long for `f32` is not drawn
            scaled = (vectors * self._scale(vectors, bounds)).astype(np.float32)
        return {**placed, "vectors": packer.plain(scaled)}

    def _scale(self, vectors: np.ndarray, bounds: Bounds) -> float:
        if self.scale is not None:
            return self.scale
        lengths = np.linalg.norm(vectors, axis=1)
        longest = limits_of(lengths)[1]
        return 0.1 * max(high - low for low, high in bounds) / longest if longest > 0 else 1.0


@dataclass(kw_only=True)
class Joined(Placed):
    """Lines or triangles between positions, coloured by values there; which, never changes."""

    indices: Any = None
    each = 0
    _least = 0  # so many positions are joined

    def arrays(self, packer: Packer, bounds: Bounds) -> dict[str, Any]:
        """Positions, and values by which they are coloured."""
        placed = super().arrays(packer, bounds)
        count = placed["positions"]["shape"][0]
        if count < self._least:
            raise refused(
                f"{self.name!r} joins {self._least:,} positions, and has only {count:,} now",
                "make another view when their number changes",
            )
        return placed

    def _corners(self, shape: tuple[int, ...]) -> np.ndarray:
        """The numbers of the positions that are joined, where there are positions of that shape."""
        return corners(self.name, self.indices, math.prod(shape), self.each)

    def scene(self) -> dict[str, Any]:
        """What never changes of it, as JSON."""
        joined = self._corners(read(self.at, f"{self.name!r}").shape[:-1])
        self._least = int(joined.max()) + 1 if joined.size else 0
        data = base64.b64encode(joined.astype("<u4").tobytes()).decode()
        return {**super().scene(), "indices": {"shape": list(joined.shape), "data": data}}


@dataclass(kw_only=True)
class Lines(Joined):
    """Segments between pairs of positions.

    Without `indices`, a line through all of them; where they have several axes, one along each last axis.
    """

    kind, each = "lines", 2

    def _corners(self, shape: tuple[int, ...]) -> np.ndarray:
        if self.indices is not None:
            return super()._corners(shape)
        numbers = np.arange(math.prod(shape), dtype=np.uint32).reshape(shape)
        return np.stack([numbers[..., :-1].ravel(), numbers[..., 1:].ravel()], axis=1)


@dataclass(kw_only=True)
class Mesh(Joined):
    """Triangles between positions."""

    kind, each = "mesh", 3

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.indices is None:
            raise refused(
                f"the mesh {self.name!r} needs the corners of its triangles", "`indices=`, of shape (n, 3)"
            )


def corners(name: str, source: Any, count: int, each: int) -> np.ndarray:
    """The numbers of the positions that lines (2 each) or triangles (3 each) join, each in a row."""
    found = read(source, f"the corners of {name!r}")
    what = f"the corners of {name!r}"
    wrong = found.size % each if found.ndim == 1 else found.ndim == 0 or found.shape[-1] != each
    if found.dtype.kind not in "iu" or wrong:
        raise refused(
            f"{what} are {each} whole numbers each, not an array of {found.dtype} of shape {found.shape}",
            f"an array of integers of shape (n, {each})",
        )
    found = found.reshape(-1, each)
    if found.size and not 0 <= found.min() <= found.max() < count:
        wrong = found.max() if found.max() >= count else found.min()
        raise refused(
            f"{what} name the position {wrong}: there are {count:,}, and the first is 0",
            f"name positions from 0 to {count - 1:,}" if count else "give positions first",
        )
    return found.astype(np.uint32)


def box(at: np.ndarray) -> Bounds:
    """The box around all finite positions."""
    return [list(limits_of(column)) for column in _rows(at).T]


def _rows(vectors: np.ndarray) -> np.ndarray:
    return vectors.reshape(-1, vectors.shape[-1])
