"""The output of pictures and controls while a program runs: below a notebook's cell, or none."""

from __future__ import annotations

import io
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, cast

import numpy as np
import PIL.Image
from IPython.core.getipython import get_ipython
from IPython.display import display
from ipywidgets import Button, FloatSlider, FloatText
from matplotlib import image as pictures
from numpy.typing import NDArray

from dsim.gui.canvas import Canvas
from dsim.gui.display_list import DisplayList
from dsim.gui.events import Event
from dsim.gui.window_scene import WindowScene
from dsim.gui.window_view import WindowView
from dsim.live.shown import MimeBundle, ShownView, page_budget
from dsim.live.subshells import hear_while_running

_PATIENCE = 20.0  # seconds that a page takes to appear, on a machine that does much else
RECORDED_BYTES = 1 << 26  # of frames that the player has


class Control(Protocol):
    """A slider or a label: a number that the user sees, and that the program reads and sets."""

    value: float


class Screen(Protocol):
    """Shows the pictures and the controls of one `GUI`.

    Attributes
    ----------
    patience : float
        The seconds in which a user may appear who can close the window.
    """

    patience: float

    @property
    def answers(self) -> bool:
        """Whether events arrive while a program runs."""
        ...

    def listen(self, hear: Callable[[Event], None]) -> None:
        """From now on each event of the user goes to `hear`, from any thread."""
        ...

    def show(self, drawn: DisplayList, number: int, fps_limit: float | None) -> None:
        """Shows frame `number`."""
        ...

    def film(self, moving: bytes) -> None:
        """Takes an animated PNG of all frames."""
        ...

    def slider(self, text: str, low: float, high: float, step: float) -> Control:
        """Adds a number from `low` to `high`, initially `low`."""
        ...

    def label(self, text: str) -> Control:
        """Adds a number that only the program sets, initially 0."""
        ...

    def button(self, text: str, pressed: Callable[[], None]) -> None:
        """Adds a button that calls `pressed`."""
        ...


@dataclass
class Number:
    """A control that is not displayed."""

    value: float


class NoScreen:
    """The screen of scripts and tests: shows nothing and does not wait."""

    answers = False
    patience = 0.0

    def listen(self, hear: Callable[[Event], None]) -> None:
        """Does nothing: nobody is there."""

    def show(self, drawn: DisplayList, number: int, fps_limit: float | None) -> None:
        """Does nothing."""

    def film(self, moving: bytes) -> None:
        """Does nothing."""

    def slider(self, text: str, low: float, high: float, step: float) -> Control:
        """A number that only the program sets."""
        return Number(low)

    def label(self, text: str) -> Control:
        """A number that only the program sets."""
        return Number(0.0)

    def button(self, text: str, pressed: Callable[[], None]) -> None:
        """Does nothing."""


class NotebookScreen:
    """A view in the output of a cell, which follows each `show` and plays the frames, and controls.

    Input to the picture and to controls arrives while a cell runs where the front end has subshells, else
    between cells. When the cell has ended, its output gets a PNG, for pages and viewers without a kernel.
    """

    def __init__(self, name: str, res: tuple[int, int]) -> None:
        self._scene = WindowScene(name, res)
        self._canvas = Canvas(*res)
        self._view = WindowView(self._scene, RECORDED_BYTES)
        self._shown = ShownView(lambda: self._view.bundle(None))
        self._shown_at = 0.0
        self.patience = _PATIENCE if page_budget() is None else 0.0

    @property
    def answers(self) -> bool:
        """Whether events arrive while a cell runs."""
        return self._view.answers

    def listen(self, hear: Callable[[Event], None]) -> None:
        """From now on each event in the picture goes to `hear`."""
        self._view.hear = hear

    def show(self, drawn: DisplayList, number: int, fps_limit: float | None) -> None:
        """Shows a frame, at most `fps_limit` of them per second."""
        if fps_limit is not None:
            time.sleep(max(0.0, self._shown_at + 1.0 / fps_limit - time.monotonic()))
        self._shown_at = time.monotonic()
        self._scene.drawn = drawn
        self._view.listen(True)
        self._view.record(step=number)
        self._show(lambda: png(drawn.pixels(self._canvas)))

    def film(self, moving: bytes) -> None:
        """Replaces the PNG by an animated one."""
        self._show(lambda: moving)

    def _show(self, picture: Callable[[], bytes]) -> None:
        def ended() -> MimeBundle:
            self._view.listen(False)  # the player gets the keys
            return self._view.bundle(picture())

        self._shown.renew(ended)

    def slider(self, text: str, low: float, high: float, step: float) -> Control:
        """Adds an ipywidgets slider."""
        return _displayed(FloatSlider(low, min=low, max=high, step=step, description=text))

    def label(self, text: str) -> Control:
        """Adds a read-only ipywidgets number."""
        return _displayed(FloatText(0.0, description=text, disabled=True))

    def button(self, text: str, pressed: Callable[[], None]) -> None:
        """Adds an ipywidgets button."""
        made = Button(description=text)
        made.on_click(lambda _: pressed())
        hear_while_running(made)
        display(made)


def _displayed(made: FloatSlider | FloatText) -> Control:
    hear_while_running(made)
    display(made)
    return cast("Control", made)


def png(pixels: NDArray[np.uint8]) -> bytes:
    """`pixels` (height, width, 3) encoded as PNG."""
    out = io.BytesIO()
    pictures.imsave(out, pixels, format="png")
    return out.getvalue()


def animated_png(frames: Sequence[NDArray[np.uint8]], fps: float, colors: int) -> bytes:
    """`frames` (height, width, 3) as an animated PNG that repeats, at `fps` frames per second."""
    # The file has one palette: frames with palettes of their own are stored in true colour, twice as large.
    sample = np.vstack(frames[:: max(1, len(frames) // 16)])
    palette = PIL.Image.fromarray(sample).quantize(colors)
    first, *others = (
        PIL.Image.fromarray(frame).quantize(palette=palette, dither=PIL.Image.Dither.NONE) for frame in frames
    )
    out = io.BytesIO()
    first.save(out, format="png", save_all=True, append_images=others, duration=1000 / fps, loop=0)
    return out.getvalue()


def current(name: str, res: tuple[int, int]) -> Screen:
    """The screen of a window in this process: a notebook's in a Jupyter kernel."""
    return NotebookScreen(name, res) if in_notebook() else NoScreen()


def in_notebook() -> bool:
    """Whether this process is a Jupyter kernel."""
    return hasattr(get_ipython(), "kernel")
