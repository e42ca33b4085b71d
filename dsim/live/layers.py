"""What a view draws from arrays: each kind of layer, and the arrays of one frame of it."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from typing import Any

import numpy as np

from dsim.live.encoding import Packer, limits_of
from dsim.live.numbers import read, refused

Bounds = list[list[float]]
_PLACES, _SHADES = 16, 8  # bits


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
        Its one colour, without `values`.
    colormap : str or None
        The map of `values`.
    limits : (float, float) or None
        The numbers at the ends of the map; None takes those of each frame.
    size : float or None
        Pixels across.
    drag, paint : bool
        Whether a person can move its points, or set its cells.
    """

    kind = ""
    name: str
    values: Any = None
    color: str | None = None
    colormap: str | None = None
    limits: tuple[float, float] | None = None
    size: float | None = None
    drag: bool = False
    paint: bool = False

    def scene(self) -> dict[str, Any]:
        """What never changes of it, as JSON."""
        return {
            "kind": self.kind, "name": self.name, "label": self.name, "color": self.color,
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
        """The array of `values`, one for each entry of `shape`."""
        if self.values is None:
            return {}
        values = read(self.values, f"the colour of {self.name!r}")
        if values.shape != shape:
            raise refused(
                f"the colour of {self.name!r} has the shape {values.shape}, not {shape}",
                "one number for each point: `color=` a field of the same shape, or a function that gives one",
            )
        low, high = self.limits or limits_of(values)
        return {"values": packer.quantised(values, low, high, _SHADES)}

    def _places(self, source: Any, axes: int) -> np.ndarray:
        """Positions, one in each row, in 2 or 3 dimensions."""
        found = read(source, f"{self.name!r}")
        if found.ndim < 2 or found.shape[-1] not in (2, 3) or (axes and found.shape[-1] != axes):
            wanted = f"vectors of {axes or '2 or 3'} numbers"
            raise refused(f"{self.name!r} takes {wanted}, not an array of shape {found.shape}")
        return found.reshape(-1, found.shape[-1])


@dataclass(kw_only=True)
class Points(Layer):
    """A disc at each position."""

    kind = "points"
    at: Any

    def bounds(self) -> Bounds | None:
        """The box around the positions."""
        return box(self._places(self.at, 0))

    def arrays(self, packer: Packer, bounds: Bounds) -> dict[str, Any]:
        """Positions, and values by which they are coloured."""
        at = self._places(self.at, len(bounds))
        return {"positions": _placed(packer, at, bounds), **self._shades(packer, at.shape[:1])}


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
            raise refused(f"{self.name!r} takes an array with two axes, not one of shape {found.shape}")
        return found

    def arrays(self, packer: Packer, bounds: Bounds) -> dict[str, Any]:
        """The values."""
        return self._shades(packer, self._numbers().shape)


@dataclass(kw_only=True)
class Arrows(Layer):
    """An arrow from each position; its length in the picture is `scale` times that of the vector."""

    kind = "arrows"
    at: Any
    vectors: Any
    scale: float | None = None

    def bounds(self) -> Bounds | None:
        """The box around their beginnings."""
        return box(self._places(self.at, 0))

    def arrays(self, packer: Packer, bounds: Bounds) -> dict[str, Any]:
        """Beginnings, and the vectors between beginnings and tips."""
        at, vectors = self._places(self.at, len(bounds)), self._places(self.vectors, len(bounds))
        if len(at) != len(vectors):
            raise refused(f"{self.name!r} has {len(vectors)} arrows for {len(at)} positions")
        vectors = (vectors * self._scale(vectors, bounds)).astype(np.float32)
        return {
            "positions": _placed(packer, at, bounds),
            "vectors": packer.plain(vectors),
            **self._shades(packer, at.shape[:1]),
        }

    def _scale(self, vectors: np.ndarray, bounds: Bounds) -> float:
        if self.scale is not None:
            return self.scale
        lengths = np.linalg.norm(vectors, axis=1)
        longest = limits_of(lengths)[1]
        return 0.1 * max(high - low for low, high in bounds) / longest if longest > 0 else 1.0


@dataclass(kw_only=True)
class Joined(Layer):
    """Lines or triangles between positions, coloured by values there; which, never changes."""

    at: Any
    indices: Any = None
    each = 0

    def scene(self) -> dict[str, Any]:
        """What never changes of it, as JSON."""
        joined = corners(self.name, self.indices, len(self._places(self.at, 0)), self.each)
        data = base64.b64encode(joined.astype("<u4").tobytes()).decode()
        return {**super().scene(), "indices": {"shape": list(joined.shape), "data": data}}

    def bounds(self) -> Bounds | None:
        """The box around the positions."""
        return box(self._places(self.at, 0))

    def arrays(self, packer: Packer, bounds: Bounds) -> dict[str, Any]:
        """Positions, and values by which they are coloured."""
        at = self._places(self.at, len(bounds))
        return {"positions": _placed(packer, at, bounds), **self._shades(packer, at.shape[:1])}


@dataclass(kw_only=True)
class Lines(Joined):
    """Segments between pairs of positions; without `indices`, a line through all of them."""

    kind, each = "lines", 2


@dataclass(kw_only=True)
class Mesh(Joined):
    """Triangles between positions."""

    kind, each = "mesh", 3


def corners(name: str, source: Any, count: int, each: int) -> np.ndarray:
    """The numbers of the positions that lines (2 each) or triangles (3 each) join."""
    if source is None:
        ends = np.arange(max(count - 1, 0), dtype=np.uint32)
        return np.stack([ends, ends + 1], axis=1).astype(np.uint32)
    found = read(source, f"the corners of {name!r}")
    if found.dtype.kind == "f" or found.ndim == 0 or (found.ndim == 1 and found.size % each):
        given = f"{found.dtype}{list(found.shape)}"
        raise refused(f"the corners of {name!r} are {each} whole numbers for each, not {given}")
    if found.ndim > 1 and found.shape[-1] != each:
        raise refused(f"the corners of {name!r} are {each} numbers for each, not {found.shape[-1]}")
    found = found.reshape(-1, each)
    if found.size and not (found.min() >= 0 and found.max() < count):
        wrong = found.max() if found.max() >= count else found.min()
        raise refused(f"a corner of {name!r} is number {wrong}: there are {count} positions")
    return found.astype(np.uint32)


def box(at: np.ndarray) -> Bounds:
    """The box around all finite positions."""
    return [list(limits_of(column)) for column in at.T]


def _placed(packer: Packer, at: np.ndarray, bounds: Bounds) -> dict[str, Any]:
    low, high = np.array(bounds, np.float64).T
    margin = high - low  # what is dragged or flies out is still placed, outside of the picture
    return packer.quantised(at, low - margin, high + margin, _PLACES)
