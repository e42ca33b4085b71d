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
from IPython.display import DisplayHandle, Image, display
from ipywidgets import Button, FloatSlider, FloatText
from matplotlib import image as pictures
from numpy.typing import NDArray


class Control(Protocol):
    """A slider or a label: a number that the user sees, and that the program reads and sets."""

    value: float


class Screen(Protocol):
    """Shows the pictures and the controls of one `GUI`."""

    def show(self, pixels: NDArray[np.uint8], fps_limit: float | None) -> None:
        """Replaces the shown picture by `pixels` (height, width, 3)."""
        ...

    def film(self, moving: bytes) -> None:
        """Replaces the shown picture by an animated PNG."""
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

    def show(self, pixels: NDArray[np.uint8], fps_limit: float | None) -> None:
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
    """One picture in the output of a cell, replaced by each `show`, and controls.

    A notebook processes the user's input to controls between cells, not while one runs.
    """

    def __init__(self) -> None:
        self._handle: DisplayHandle | None = None
        self._shown_at = 0.0

    def show(self, pixels: NDArray[np.uint8], fps_limit: float | None) -> None:
        """Replaces the picture; waits to show at most `fps_limit` pictures per second."""
        if fps_limit is not None:
            time.sleep(max(0.0, self._shown_at + 1.0 / fps_limit - time.monotonic()))
        self._shown_at = time.monotonic()
        self._replace(png(pixels))

    def film(self, moving: bytes) -> None:
        """Replaces the picture by an animated PNG."""
        self._replace(moving)

    def _replace(self, data: bytes) -> None:
        picture = Image(data=data, format="png")
        if self._handle is None:
            self._handle = DisplayHandle()
            self._handle.display(picture)
        else:
            self._handle.update(picture)

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
        display(made)


def _displayed(made: FloatSlider | FloatText) -> Control:
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


def current() -> Screen:
    """The screen of this process: a notebook's in a Jupyter kernel."""
    return NotebookScreen() if hasattr(get_ipython(), "kernel") else NoScreen()
