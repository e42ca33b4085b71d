"""`GUI`: Taichi's drawing calls. It opens no window: `canvas.py` draws, `screen.py` shows."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from matplotlib import image as pictures
from numpy.typing import ArrayLike, NDArray

from dsim.gui import colors, screen
from dsim.gui.canvas import Canvas

FRAMES_VARIABLE = "DSIM_GUI_FRAMES"
_FRAMES = 50


@dataclass(frozen=True)
class Event:
    """What somebody did at the window."""

    type: str
    key: str
    modifier: tuple[str, ...] = ()
    pos: tuple[float, float] = (0.0, 0.0)
    delta: tuple[float, float] = (0.0, 0.0)

    def fits(self, wanted: str | tuple[str, str]) -> bool:
        """Whether `wanted` is its type, its key, or both."""
        return wanted in (self.type, self.key, (self.type, self.key))


class GUI:
    """A picture to draw on, frame after frame, with the calls of Taichi's ``ti.GUI``.

    No window opens, so nobody can close it: after a number of frames `running` turns false, and
    Escape is pressed. In a notebook each `show` replaces the picture below the cell; everywhere else
    the pictures are kept in `frames`, and ``show("name.png")`` saves one.

    Parameters
    ----------
    name : str
        The title.
    res : int or (int, int)
        Width and height in pixels; one number for a square.
    background_color : int
        ``0xRRGGBB``; each frame begins with it.
    show_gui : bool
        False shows nothing in a notebook either.
    fullscreen, fast_gui : bool
        Taken for the sake of Taichi's programs; they change nothing here.
    frames : int, optional
        How many frames `running` allows; by default the environment variable ``DSIM_GUI_FRAMES``,
        and 50 when it is not set.

    Attributes
    ----------
    running : bool
        Whether the loop of a program should go on; may be set to False.
    frame : int
        How many frames were shown.
    frames : list of ndarray, shape (height, width, 3)
        The frames shown so far as 8-bit red, green, blue; the top row first.
    fps_limit : float or None
        Frames a second that a notebook shows at most; `show` waits. Elsewhere nothing waits.
    event : None
        The event that `get_event` found; there are none.

    Examples
    --------
    >>> gui = GUI("one dot", res=64, background_color=0x112F41)
    >>> while gui.running:
    ...     gui.circle([0.5, 0.5], color=0xED553B, radius=10)
    ...     gui.show()
    >>> gui.frame, gui.frames[0].shape
    (50, (64, 64, 3))
    """

    PRESS: ClassVar[str] = "Press"
    RELEASE: ClassVar[str] = "Release"
    MOTION: ClassVar[str] = "Motion"
    EXIT: ClassVar[str] = "WMClose"
    ESCAPE: ClassVar[str] = "Escape"
    RETURN: ClassVar[str] = "Return"
    SPACE: ClassVar[str] = " "
    BACKSPACE: ClassVar[str] = "BackSpace"
    TAB: ClassVar[str] = "Tab"
    SHIFT: ClassVar[str] = "Shift"
    CTRL: ClassVar[str] = "Control"
    ALT: ClassVar[str] = "Alt"
    LEFT: ClassVar[str] = "Left"
    RIGHT: ClassVar[str] = "Right"
    UP: ClassVar[str] = "Up"
    DOWN: ClassVar[str] = "Down"
    LMB: ClassVar[str] = "LMB"
    MMB: ClassVar[str] = "MMB"
    RMB: ClassVar[str] = "RMB"
    MOVE: ClassVar[str] = "Motion"
    WHEEL: ClassVar[str] = "Wheel"

    def __init__(
        self,
        name: str = "dsim",
        res: int | Sequence[int] = 512,
        background_color: int = 0x0,
        show_gui: bool = True,
        fullscreen: bool = False,
        fast_gui: bool = False,
        *,
        frames: int | None = None,
    ) -> None:
        width, height = (res, res) if isinstance(res, int) else res
        self.name = name
        self.res: tuple[int, int] = (int(width), int(height))
        self.background_color = background_color
        self.fps_limit: float | None = 60.0
        self.frame = 0
        self.frames: list[NDArray[np.uint8]] = []
        self.event: Event | None = None
        self._coming: list[Event] = []
        self.running = True
        self._allowed = int(os.environ.get(FRAMES_VARIABLE, _FRAMES)) if frames is None else frames
        self._canvas = Canvas(*self.res)
        self._screen = screen.current() if show_gui else screen.NoScreen()
        self.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

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
        self._canvas.circles(centres, _sizes(radius, len(centres)), rgb)

    def line(self, begin: ArrayLike, end: ArrayLike, radius: float = 1, color: int = 0xFFFFFF) -> None:
        """A straight line, twice `radius` pixels across."""
        self.lines(np.atleast_2d(np.asarray(begin)), np.atleast_2d(np.asarray(end)), radius, color)

    def lines(self, begin: Any, end: Any, radius: Any = 1, color: Any = 0xFFFFFF) -> None:
        """Straight lines from `begin` to `end`, both of shape (n, 2); `radius` and `color` one or n."""
        a, b = _positions(begin), _positions(end)
        if a.shape != b.shape:
            raise ValueError(f"lines begin at {len(a)} places and end at {len(b)}")
        self._canvas.lines(a, b, _sizes(radius, len(a)), colors.of_shapes(len(a), _array(color)))

    def triangle(self, a: ArrayLike, b: ArrayLike, c: ArrayLike, color: int = 0xFFFFFF) -> None:
        """A filled triangle of three corners."""
        self.triangles(*(np.atleast_2d(np.asarray(corner)) for corner in (a, b, c)), color=color)

    def triangles(self, a: Any, b: Any, c: Any, color: Any = 0xFFFFFF) -> None:
        """Filled triangles; corners `a`, `b`, `c` of shape (n, 2) each, `color` one or n."""
        corners = np.stack([_positions(a), _positions(b), _positions(c)], axis=1)
        self._canvas.polygons(corners, colors.of_shapes(len(corners), _array(color)))

    def rect(
        self, topleft: Sequence[float], bottomright: Sequence[float], radius: float = 1, color: int = 0xFFFFFF
    ) -> None:
        """The outline of a rectangle, twice `radius` pixels across."""
        (left, top), (right, bottom) = topleft, bottomright
        corners = np.array([[left, top], [right, top], [right, bottom], [left, bottom]])
        self.lines(corners, np.roll(corners, -1, axis=0), radius, color)

    def arrow(self, orig: ArrayLike, direction: ArrayLike, radius: float = 1, color: int = 0xFFFFFF) -> None:
        """An arrow from `orig` to `orig` + `direction`."""
        self.arrows(np.atleast_2d(np.asarray(orig)), np.atleast_2d(np.asarray(direction)), radius, color)

    def arrows(self, orig: Any, direction: Any, radius: Any = 1, color: Any = 0xFFFFFF) -> None:
        """Arrows from `orig` to `orig` + `direction`, both of shape (n, 2)."""
        begin, along = _positions(orig), _positions(direction)
        end, across = begin + along, 0.5 * along[:, ::-1] * [-1.0, 1.0]
        self.lines(begin, end, radius, color)
        self.lines(end, end - 0.2 * (along + across), radius, color)
        self.lines(end, end - 0.2 * (along - across), radius, color)

    def text(self, content: str, pos: ArrayLike, font_size: float = 15, color: int = 0xFFFFFF) -> None:
        """A line of text whose upper left corner is at `pos`."""
        self._canvas.text(content, _positions(pos)[0], font_size, colors.hex_to_rgb(color))

    # whole pictures

    def set_image(self, img: Any) -> None:
        """Covers the picture by `img`; what is drawn later lies over it.

        Parameters
        ----------
        img : array_like or field, shape (width, height) or (width, height, 3 or 4)
            The first index goes right and the second one up, as in Taichi. Floats count from 0 to
            1, integers from 0 to 255; one number a pixel is a grey.

        Raises
        ------
        ValueError
            When its size is not that of the picture.
        """
        values = _array(img)
        if values.shape[:2] != self.res or values.shape[2:] not in ((), (1,), (3,), (4,)):
            raise ValueError(f"an image of shape {values.shape} does not fit a picture of {self.res} pixels")
        if np.issubdtype(values.dtype, np.floating):
            values = np.clip(values, 0.0, 1.0) * 255
        grey = values.reshape(*self.res, -1)[:, :, :3].astype(np.uint8)
        self._canvas.image(np.broadcast_to(grey.transpose(1, 0, 2)[::-1], (*self.res[::-1], 3)))

    def get_image(self) -> NDArray[np.float32]:
        """What is drawn so far: shape (width, height, 4), 0 to 1, indexed as `set_image` is."""
        pixels = self._canvas.pixels()[::-1].transpose(1, 0, 2).astype(np.float32) / 255
        opaque = np.ones((*self.res, 1), np.float32)
        return np.concatenate([pixels, opaque], axis=2, dtype=np.float32)

    def clear(self, color: int | None = None) -> None:
        """Starts the picture anew, filled with `color` (`background_color` by default)."""
        self._canvas.clear(colors.hex_to_rgb(self.background_color if color is None else color))

    def show(self, file: str | Path | None = None) -> None:
        """Ends a frame: shows it, saves it as `file` when given, keeps it in `frames`, starts a new one."""
        pixels = self._canvas.pixels()
        if file is not None:
            pictures.imsave(file, pixels)
        self._screen.show(pixels, self.fps_limit)
        self.frames.append(pixels)
        self.frame += 1
        if self.frame >= self._allowed and self.running:
            self.running = False
            self._coming.append(Event(self.PRESS, self.ESCAPE))
        self.clear()

    def close(self) -> None:
        """Ends the loop that asks for `running`."""
        self.running = False

    # what a person at a window would do; nobody is there, but Escape is pressed after the last frame

    def get_event(self, *event_filter: str | tuple[str, str]) -> bool:
        """Whether there is an event that fits; it stands in `event` then."""
        for event in self._coming:
            if not event_filter or any(event.fits(wanted) for wanted in event_filter):
                self._coming.remove(event)
                self.event = event
                return True
        return False

    def get_events(self, *event_filter: str | tuple[str, str]) -> Iterator[Event]:
        """The events that fit, one after another."""
        while self.get_event(*event_filter):
            assert self.event is not None
            yield self.event

    def is_pressed(self, *keys: str) -> bool:
        """Whether one of `keys` is held down: never, without a window."""
        return False

    def get_cursor_pos(self) -> tuple[float, float]:
        """Where the mouse is in the unit square: its lower left corner, without a window."""
        return 0.0, 0.0


def _array(values: Any) -> NDArray[Any]:
    """`values` as an array, also those of a field."""
    return values.to_numpy() if hasattr(values, "to_numpy") else np.asarray(values)


def _positions(values: Any) -> NDArray[np.float64]:
    """`values` as positions (n, 2); the third coordinate of points in space is left out."""
    points = np.atleast_2d(_array(values).astype(np.float64))
    if points.ndim != 2 or points.shape[1] < 2:
        raise ValueError(f"positions have the shape (n, 2), not {points.shape}")
    return points[:, :2]


def _sizes(radius: Any, count: int) -> NDArray[np.float64]:
    """`radius` as an array of one or `count` numbers."""
    sizes = np.atleast_1d(_array(radius).astype(np.float64)).ravel()
    if len(sizes) not in (1, count):
        raise ValueError(f"{len(sizes)} radii for {count} shapes; give one, or one for each")
    return sizes
