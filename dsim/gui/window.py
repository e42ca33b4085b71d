"""`GUI`: frames, events, controls. It opens no window: `drawing.py` draws, `screen.py` shows."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from matplotlib import image as pictures

from dsim.diagnostics.frames import outermost
from dsim.gui import screen
from dsim.gui.display_list import KeptFrames
from dsim.gui.drawing import Drawing
from dsim.gui.images import known_format
from dsim.live.scene.numbers import refused

FRAMES_VARIABLE = "DSIM_GUI_FRAMES"
_FRAMES = 50
KEPT_BYTES = 2**28  # limit on the frames kept
_MODIFIERS = ("Shift", "Alt", "Control")


@dataclass(frozen=True)
class Event:
    """An input event of the window."""

    type: str
    key: str
    modifier: tuple[str, ...] = ()
    pos: tuple[float, float] = (0.0, 0.0)
    delta: tuple[float, float] = (0.0, 0.0)

    def fits(self, wanted: str | tuple[str, str]) -> bool:
        """Whether `wanted` is its type, its key, or both."""
        return wanted in (self.type, self.key, (self.type, self.key))


class GUI(Drawing):
    """A picture to draw on, frame after frame, with the calls of Taichi's ``ti.GUI``.

    No window opens, so the user cannot close it: after a number of frames `running` becomes false, and
    an Escape event occurs. In a notebook a view below the cell follows, as of `ds.view`, and its player goes
    back to earlier frames; of very many frames it has every second one, or fewer, and says so. The
    pictures are also kept in `frames`, and ``show("name.png")`` saves one.

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
        Accepted for compatibility with Taichi; without effect.
    frames : int, optional
        The number of frames until `running` is false; default: the environment variable ``DSIM_GUI_FRAMES``,
        or 50 when it is not set.

    Attributes
    ----------
    running : bool
        Whether the program's loop should continue; may be set to False.
    frame : int
        The number of frames shown.
    frames : sequence of ndarray, shape (height, width, 3)
        The frames shown so far as 8-bit red, green, blue; the top row first. Each array is made when it is
        asked for. Limited to the newest 256 MB.
    fps_limit : float or None
        The maximum number of frames per second in a notebook, where `show` waits; elsewhere it does not.
    event : Event or None
        The last event that `get_event` returned.
    key_pressed : set of str
        The keys held down according to the events fetched so far.

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
    CAPSLOCK: ClassVar[str] = "Caps_Lock"
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
    Event: ClassVar[type[Event]] = Event

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
        super().__init__(_resolution(res), background_color)
        self.name = name
        self.fps_limit: float | None = 60.0
        self.frame = 0
        self.frames = KeptFrames(self._canvas)
        self._full = False  # whether the user was told
        self.event: Event | None = None
        self.key_pressed: set[str] = set()
        self._coming: list[Event] = []
        self.running = True
        self._allowed = _frames() if frames is None else frames
        self._screen = screen.current(name, self.res) if show_gui else screen.NoScreen()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    # frames

    @outermost
    def show(self, file: str | Path | None = None) -> None:
        """Ends a frame: shows it, saves it as `file` if given, appends it to `frames`, starts a new one."""
        if file is not None:
            with known_format(file):
                pictures.imsave(file, self._drawn.pixels(self._canvas))
        self._screen.show(self._drawn, self.frame, self.fps_limit)
        self._keep()
        self.frame += 1
        if self.frame >= self._allowed and self.running:
            self.running = False
            self._coming.append(Event(self.PRESS, self.ESCAPE))
        self.clear()

    def _keep(self) -> None:
        """Appends the frame, within the memory limit for programs that never end."""
        if self.frames.add(self._drawn, KEPT_BYTES):
            if not self._full:
                message = f"this window keeps its newest {len(self.frames):,} frames, the older ones are gone"
                warnings.warn(message, stacklevel=3)
            self._full = True

    def film(self, file: str | Path | None = None, *, fps: float = 20, colors: int = 32) -> None:
        """All frames as one animated picture, which a notebook keeps for pages and viewers without a kernel.

        Parameters
        ----------
        file : str or Path, optional
            Where to save it, as an animated PNG.
        fps : float
            Frames per second.
        colors : int
            The number of colours, at most 256; fewer make a smaller file.

        Raises
        ------
        ValueError
            When no frame was shown.
        """
        if not self.frames:
            raise ValueError("there are no frames for a film: call `show` first")
        moving = screen.animated_png(self.frames, fps, colors)
        if file is not None:
            Path(file).write_bytes(moving)
        self._screen.film(moving)

    def close(self) -> None:
        """Sets `running` to False."""
        self.running = False

    # events: without a window the only one is Escape, after the last frame

    def has_key_event(self) -> bool:
        """Whether an event is pending."""
        return bool(self._coming)

    def get_key_event(self) -> Event:
        """The next event; if none is pending, Escape, since without a window no other can occur."""
        event = self._coming.pop(0) if self._coming else Event(self.PRESS, self.ESCAPE)
        return self._taken(event)

    def get_event(self, *event_filter: str | tuple[str, str]) -> bool:
        """Whether a matching event is pending; it is then stored in `event`."""
        for event in self._coming:
            if not event_filter or any(event.fits(wanted) for wanted in event_filter):
                self._coming.remove(event)
                self.event = self._taken(event)
                return True
        return False

    def get_events(self, *event_filter: str | tuple[str, str]) -> Iterator[Event]:
        """The matching events, one after another."""
        while self.get_event(*event_filter):
            assert self.event is not None
            yield self.event

    def _taken(self, event: Event) -> Event:
        change = self.key_pressed.add if event.type == self.PRESS else self.key_pressed.discard
        change(event.key)
        return event

    def is_pressed(self, *keys: str) -> bool:
        """Whether one of `keys` is held down according to the events fetched so far."""
        sides = (f"{key}_{side}" for key in keys if key in _MODIFIERS for side in "LR")
        return any(key in self.key_pressed for key in (*keys, *sides))

    def get_cursor_pos(self) -> tuple[float, float]:
        """The mouse position in the unit square: without a window, the lower left corner."""
        return 0.0, 0.0

    # controls

    def slider(self, text: str, minimum: float, maximum: float, step: float = 1) -> screen.Control:
        """Adds a slider; its `value`, initially `minimum`, may be read and set.

        Without a notebook only the program sets it.
        """
        return self._screen.slider(text, float(minimum), float(maximum), float(step))

    def label(self, text: str) -> screen.Control:
        """Adds a number display; its `value`, initially 0, may be read and set."""
        return self._screen.label(text)

    def button(self, text: str, event_name: str | None = None) -> str:
        """Adds a button in a notebook; returns the `key` of its events."""
        key = event_name or f"WidgetButton_{text}"
        self._screen.button(text, lambda: self._coming.append(Event(self.PRESS, key)))
        return key

    def __getattr__(self, name: str) -> Any:
        why = ""
        if name in ("core", "canvas"):
            why = ": there is no Taichi window; draw with the methods of `GUI`"
        raise AttributeError(f"'GUI' object has no attribute '{name}'{why}")


def _resolution(res: Any) -> tuple[int, int]:
    """Width and height of a window in pixels."""
    given = np.asarray(res)
    if given.dtype.kind not in "iuf" or given.shape not in ((), (1,), (2,)) or not np.all(given >= 1):
        raise refused(
            f"`res` is a width and a height in pixels, or one number for both, not {res!r}", "res=(640, 480)"
        )
    width, height = np.broadcast_to(given, 2)
    return int(width), int(height)


def _frames() -> int:
    """After how many frames a window that nobody can close ends."""
    given = os.environ.get(FRAMES_VARIABLE, str(_FRAMES))
    if not given.isdecimal():
        raise refused(f"{FRAMES_VARIABLE} is a number of frames, not {given!r}", f"{FRAMES_VARIABLE}=100")
    return int(given)
