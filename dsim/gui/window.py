"""`GUI`: frames, events, controls. It opens no window: `drawing.py` draws, `screen.py` shows."""

from __future__ import annotations

import math
import os
import time
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from matplotlib import image as pictures

from dsim.diagnostics.frames import outermost
from dsim.files import replaced
from dsim.gui import events, screen
from dsim.gui.display_list import KeptFrames
from dsim.gui.drawing import Drawing
from dsim.gui.events import Event, EventQueue, Filter
from dsim.gui.images import known_format
from dsim.live.scene.numbers import refused

FRAMES_VARIABLE = "DSIM_GUI_FRAMES"
_FRAMES = 50
KEPT_BYTES = 2**28  # limit on the frames kept
_WAIT = 0.05  # seconds between looks at whether the page is still there


class GUI(Drawing):
    """A picture to draw on, frame after frame, with the calls of Taichi's ``ti.GUI``.

    No window opens. In a notebook a view below the cell follows, as of `ds.view`, and its player goes
    back to earlier frames; of very many frames it has every second one, or fewer, and says so. While the
    picture has the focus, keys and the pointer go to the program that asks for events. The
    pictures are also kept in `frames`, and ``show("name.png")`` saves one.

    After a number of frames `running` becomes false, and an Escape event occurs.

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
    frames : int or float, optional
        The number of frames until `running` is false; default: the environment variable ``DSIM_GUI_FRAMES``,
        or 50 when it is not set. With ``float("inf")`` the program runs until the user closes the window in
        the page of a notebook; where no page can do that, the default holds.

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

    PRESS: ClassVar[str] = events.PRESS
    RELEASE: ClassVar[str] = events.RELEASE
    MOTION: ClassVar[str] = events.MOTION
    EXIT: ClassVar[str] = events.EXIT
    ESCAPE: ClassVar[str] = events.ESCAPE
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
    MOVE: ClassVar[str] = events.MOVE
    WHEEL: ClassVar[str] = events.WHEEL
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
        frames: float | None = None,
    ) -> None:
        super().__init__(_resolution(res), background_color)
        self.name = name
        self.fps_limit: float | None = 60.0
        self.frame = 0
        self.frames = KeptFrames(self._canvas)
        self._full = False  # whether the user was told
        self.event: Event | None = None
        self._input = EventQueue()
        self.running = True
        self._allowed = _frames() if frames is None else frames
        self._begun: float | None = None  # when the first frame was shown
        self._screen = screen.current(name, self.res) if show_gui else screen.NoScreen()
        if self._allowed == math.inf:
            self._listen()  # to who closes it

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    # frames

    @outermost
    def show(self, file: str | Path | None = None) -> None:
        """Ends a frame: shows it, saves it as `file` if given, appends it to `frames`, starts a new one."""
        if file is not None:
            with known_format(file), replaced(file) as beside:
                pictures.imsave(beside, self._drawn.pixels(self._canvas))
        self._screen.show(self._drawn, self.frame, self.fps_limit)
        self._keep()
        self._input.end_frame()
        self.frame += 1
        if self._at_end():
            self.running = False
            self._input.add(Event(self.PRESS, self.ESCAPE, pos=self._input.cursor))
        self.clear()

    def _at_end(self) -> bool:
        """Whether this was the last frame, or comes after it in a loop that waits for Escape."""
        now = time.monotonic()
        self._begun = now if self._begun is None else self._begun
        most = self._allowed
        if most == math.inf and not self._screen.answers and now - self._begun > self._screen.patience:
            most = _frames()  # nobody is there to close it
        return self.frame >= most and (self.running or not self._input.pending)

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
        ArgumentError
            When no frame was shown.
        """
        if not self.frames:
            raise refused("there are no frames for a film", "call `show` first")
        moving = screen.animated_png(self.frames, fps, colors)
        if file is not None:
            with replaced(file) as beside:
                beside.write_bytes(moving)
        self._screen.film(moving)

    def close(self) -> None:
        """Sets `running` to False."""
        self.running = False

    # events

    @property
    def key_pressed(self) -> set[str]:
        """The keys held down according to the events fetched so far; may be set."""
        return self._input.key_pressed

    @key_pressed.setter
    def key_pressed(self, keys: set[str]) -> None:
        self._input.key_pressed = set(keys)

    def _listen(self) -> None:
        """Keys and the pointer go to the program from the next frame on."""
        self._screen.listen(self._heard)

    def _heard(self, event: Event) -> None:
        self._input.add(event)
        if (event.type, event.key) == (self.PRESS, self.EXIT):
            self.running = False

    def has_key_event(self) -> bool:
        """Whether an event is pending."""
        self._listen()
        return self._input.pending

    def get_key_event(self) -> Event:
        """The next event; waits for one where a page shows the window, and is Escape where none does."""
        self._listen()
        while not self._input.pending and self._screen.answers and self.running:
            self._input.wait(_WAIT)
        return self._input.fetch() or Event(self.PRESS, self.ESCAPE)

    def get_event(self, *event_filter: Filter) -> bool:
        """Whether a matching event is pending; it is then stored in `event`.

        What does not match stays for other filters until the next `show`.
        """
        self._listen()
        found = self._input.fetch(*event_filter)
        if found is not None:
            self.event = found
        return found is not None

    def get_events(self, *event_filter: Filter) -> Iterator[Event]:
        """The matching events, one after another."""
        while self.get_event(*event_filter):
            assert self.event is not None
            yield self.event

    def is_pressed(self, *keys: str) -> bool:
        """Whether one of `keys` is held down according to the events fetched so far."""
        self._listen()
        return self._input.is_pressed(*keys)

    def get_cursor_pos(self) -> tuple[float, float]:
        """Where the mouse is, from (0, 0) at the lower left to (1, 1); (0, 0) without a notebook."""
        self._listen()
        return self._input.cursor

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
        self._screen.button(text, lambda: self._input.add(Event(self.PRESS, key, pos=self._input.cursor)))
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
