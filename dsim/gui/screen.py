"""Where a picture is seen while a program runs: below the cell of a notebook, or nowhere."""

from __future__ import annotations

import io
import time
from typing import Protocol

import numpy as np
from IPython.core.getipython import get_ipython
from IPython.display import DisplayHandle, Image
from matplotlib import image as pictures
from numpy.typing import NDArray


class Screen(Protocol):
    """Shows the pictures of one `GUI`."""

    def show(self, pixels: NDArray[np.uint8], fps_limit: float | None) -> None:
        """Shows `pixels` (height, width, 3) in the place of the picture before."""
        ...


class NoScreen:
    """A script or a test: there is nothing to show on, and nothing to wait for."""

    def show(self, pixels: NDArray[np.uint8], fps_limit: float | None) -> None:
        """Does nothing."""


class NotebookScreen:
    """One picture in the output of a cell; each `show` replaces it."""

    def __init__(self) -> None:
        self._handle: DisplayHandle | None = None
        self._shown_at = 0.0

    def show(self, pixels: NDArray[np.uint8], fps_limit: float | None) -> None:
        """Replaces the picture, after waiting so long that not more than `fps_limit` come a second."""
        if fps_limit is not None:
            time.sleep(max(0.0, self._shown_at + 1.0 / fps_limit - time.monotonic()))
        self._shown_at = time.monotonic()
        picture = Image(data=png(pixels), format="png")
        if self._handle is None:
            self._handle = DisplayHandle()
            self._handle.display(picture)
        else:
            self._handle.update(picture)


def png(pixels: NDArray[np.uint8]) -> bytes:
    """`pixels` (height, width, 3) as a PNG file's bytes."""
    out = io.BytesIO()
    pictures.imsave(out, pixels, format="png")
    return out.getvalue()


def current() -> Screen:
    """The screen of this process: a notebook's when a Jupyter kernel runs it."""
    return NotebookScreen() if hasattr(get_ipython(), "kernel") else NoScreen()
