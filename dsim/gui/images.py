"""Images in files: `imwrite`, `imread`, `imresize`, `imshow`, as in `taichi.tools`.

The first axis points right and the second up, as in `GUI.set_image`; a third has 1 to 4 channels.
Pillow, a dependency of matplotlib, reads and writes the files.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from IPython.display import display
from numpy.typing import NDArray
from PIL import Image

from dsim.files import replaced
from dsim.gui.colors import to_bytes
from dsim.gui.screen import in_notebook
from dsim.live.scene.numbers import refused
from dsim.runtime.fields.fields import Field

_MODES = {1: "L", 3: "RGB", 4: "RGBA"}


def _pixels(img: Any) -> NDArray[np.uint8]:
    """`img` as rows of pixels from the top, of 1, 3 or 4 channels."""
    values = img.to_numpy() if isinstance(img, Field) else np.asarray(img)
    if values.ndim == 2:
        values = values[:, :, None]
    if values.ndim != 3 or not 1 <= values.shape[2] <= 4 or values.size == 0:
        raise refused(
            f"an image has two axes, and 1 to 4 channels; this has shape {values.shape}",
            "give it as (width, height), or (width, height, channels)",
        )
    values = to_bytes(values, 0.5)
    if values.shape[2] == 2:
        values = np.concatenate([values, np.zeros_like(values[:, :, :1])], axis=2)
    return np.ascontiguousarray(values.swapaxes(0, 1)[::-1])


def _image(img: Any) -> Image.Image:
    pixels = _pixels(img)
    return Image.fromarray(pixels[:, :, 0] if pixels.shape[2] == 1 else pixels)


def imwrite(img: Any, filename: str | Path) -> None:
    """Writes an image to a file, in the format of the file name's extension.

    Parameters
    ----------
    img : field or array of shape (width, height) or (width, height, channels)
        Floats, clipped to 0 to 1, or unsigned integers, of which the highest 8 bits are written.
    filename : str or Path
        ``"picture.png"``.

    Raises
    ------
    ValueError, TypeError
        For a shape that is not an image's, or values of another kind.
    """
    made = _image(img)
    with known_format(filename), replaced(filename) as beside:
        made.save(beside)


@contextmanager
def known_format(filename: str | Path) -> Iterator[None]:
    """The block writes that file, whose name says its format.

    Raises
    ------
    ArgumentError
        When it names none in which a picture can be written.
    """
    try:
        yield
    except (KeyError, ValueError):
        name = Path(filename).name
        raise refused(f"no format of pictures has names such as {name!r}", "such as `picture.png`") from None


def imread(filename: str | Path, channels: int = 0) -> NDArray[np.uint8]:
    """The image in a file, of shape (width, height, channels).

    Parameters
    ----------
    filename : str or Path
        The file.
    channels : int
        1, 3 or 4; 0 for as many as the file has.
    """
    if channels not in (0, *_MODES):
        raise refused(f"an image has 1, 3 or 4 channels, not {channels}", "0 for as many as the file has")
    with Image.open(filename) as found:
        mode = _MODES.get(channels) or (found.mode if found.mode in _MODES.values() else "RGB")
        pixels = np.asarray(found.convert(mode))
    pixels = pixels[:, :, None] if pixels.ndim == 2 else pixels
    return np.ascontiguousarray(pixels[::-1].swapaxes(0, 1))


def imresize(img: Any, w: int, h: int | None = None) -> NDArray[Any]:
    """`img` resized to width `w` and height `h` (default: `w`), by nearest-neighbour sampling.

    Examples
    --------
    >>> imresize(np.array([[1, 2], [3, 4]]), 4, 2).tolist()
    [[1, 2], [1, 2], [3, 4], [3, 4]]
    """
    values = img.to_numpy() if isinstance(img, Field) else np.asarray(img)
    size = (int(w), int(w if h is None else h))
    if min(size) < 1:
        raise refused(f"an image has at least one pixel along each axis, not {size}", "as 640 and 480")
    at = [np.arange(n) * length // n for n, length in zip(size, values.shape, strict=False)]
    return values[np.ix_(*at)]


def imshow(img: Any, title: str = "") -> None:
    """Shows an image below the cell of a notebook; elsewhere in the system's image viewer, if it has one."""
    picture = _image(img)
    if in_notebook():
        display(picture)
    else:
        picture.show(title)


imdisplay = imshow
