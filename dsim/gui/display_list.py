"""What a frame of a `GUI` shows: shapes in order, of which a canvas makes pixels when they are needed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from dsim.gui.canvas import Canvas, Colors, Positions

_BLACK = np.zeros(3)


@dataclass(frozen=True)
class CircleShapes:
    """Arguments of `Canvas.circles`."""

    centres: Positions
    radius: NDArray[np.float64]
    colors: Colors

    def draw(self, canvas: Canvas) -> None:
        """Draws them."""
        canvas.circles(self.centres, self.radius, self.colors)


@dataclass(frozen=True)
class LineShapes:
    """Arguments of `Canvas.lines`."""

    begin: Positions
    end: Positions
    radius: NDArray[np.float64]
    colors: Colors

    def draw(self, canvas: Canvas) -> None:
        """Draws them."""
        canvas.lines(self.begin, self.end, self.radius, self.colors)


@dataclass(frozen=True)
class TriangleShapes:
    """Arguments of `Canvas.polygons`, with three corners each."""

    corners: Positions
    colors: Colors

    def draw(self, canvas: Canvas) -> None:
        """Draws them."""
        canvas.polygons(self.corners, self.colors)


@dataclass(frozen=True)
class TextShape:
    """Arguments of `Canvas.text`."""

    content: str
    upper_left: Positions
    size: float
    rgb: Colors

    def draw(self, canvas: Canvas) -> None:
        """Draws it."""
        canvas.text(self.content, self.upper_left, self.size, self.rgb)


@dataclass(frozen=True)
class ImageShape:
    """The argument of `Canvas.image`."""

    pixels: NDArray[np.uint8]

    def draw(self, canvas: Canvas) -> None:
        """Draws it."""
        canvas.image(self.pixels)


Shape = CircleShapes | LineShapes | TriangleShapes | TextShape | ImageShape


@dataclass
class DisplayList:
    """The shapes of a frame, from the back to the front, on a background."""

    background: Colors = field(default_factory=_BLACK.copy)
    shapes: list[Shape] = field(default_factory=list)

    def add(self, shape: Shape) -> None:
        """Adds a shape above all others; an image covers them."""
        if isinstance(shape, ImageShape):
            self.shapes.clear()
        self.shapes.append(shape)

    @property
    def nbytes(self) -> int:
        """How many bytes its arrays have."""
        arrays = (getattr(shape, f.name) for shape in self.shapes for f in fields(shape))
        return sum(array.nbytes for array in arrays if isinstance(array, np.ndarray))

    def pixels(self, canvas: Canvas) -> NDArray[np.uint8]:
        """The picture (height, width, 3) that `canvas` makes of it, the top row first."""
        canvas.clear(self.background)
        for shape in self.shapes:
            shape.draw(canvas)
        return canvas.pixels()


class KeptFrames(Sequence[NDArray[np.uint8]]):
    """The newest frames: arrays (height, width, 3), each made when it is asked for.

    Parameters
    ----------
    canvas : Canvas
        What makes them.
    """

    def __init__(self, canvas: Canvas) -> None:
        self._canvas = canvas
        self._kept: list[DisplayList] = []
        self._least = 3 * canvas.width * canvas.height
        self._bytes = 0

    def add(self, frame: DisplayList, most: int) -> bool:
        """Keeps one more frame; whether older ones had to go, since all need more than `most` bytes."""
        self._kept.append(frame)
        self._bytes += self._cost(frame)
        gone = 0
        while self._bytes > most and gone < len(self._kept) - 1:
            self._bytes -= self._cost(self._kept[gone])
            gone += 1
        del self._kept[:gone]
        return gone > 0

    def _cost(self, frame: DisplayList) -> int:
        return max(frame.nbytes, self._least)

    def __len__(self) -> int:
        return len(self._kept)

    @overload
    def __getitem__(self, index: int) -> NDArray[np.uint8]: ...

    @overload
    def __getitem__(self, index: slice) -> list[NDArray[np.uint8]]: ...

    def __getitem__(self, index: int | slice) -> Any:
        found = self._kept[index]
        if isinstance(found, list):
            return [frame.pixels(self._canvas) for frame in found]
        return found.pixels(self._canvas)
