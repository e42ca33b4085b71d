"""Colours in Taichi's notation (``0xRRGGBB``) and as fractions of red, green and blue."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dsim.live.scene.numbers import refused


def hex_to_rgb(color: ArrayLike) -> NDArray[np.float64]:
    """Red, green and blue between 0 and 1 of a colour ``0xRRGGBB``; one more axis than `color` has.

    Raises
    ------
    ArgumentError
        When a colour is no number, negative, or over ``0xFFFFFF``.

    Examples
    --------
    >>> hex_to_rgb(0xFF0000).tolist()
    [1.0, 0.0, 0.0]
    """
    given = np.asarray(color)
    if given.dtype.kind not in "biuf":
        raise refused(
            f"a colour is a number such as 0xED553B, not {given.tolist()!r}", "write it as 0xRRGGBB"
        )
    number = given.astype(np.int64)
    if np.any((number < 0) | (number > 0xFFFFFF)):
        raise refused("a colour is a number from 0x000000 to 0xFFFFFF", "write it as 0xRRGGBB")
    return np.stack([number >> 16, (number >> 8) & 255, number & 255], axis=-1) / 255.0


def rgb_to_hex(rgb: ArrayLike) -> int | NDArray[np.int64]:
    """The colour ``0xRRGGBB`` of red, green and blue between 0 and 1; the inverse of `hex_to_rgb`.

    Parameters
    ----------
    rgb : array_like, shape (..., 3)
        Values outside 0 to 1 are clipped. A tuple or list of three arrays, as in Taichi's
        ``rgb_to_hex([r, g, b])``, is all the reds, all the greens and all the blues.

    Examples
    --------
    >>> hex(rgb_to_hex([1.0, 0.5, 0.0]))
    '0xff7f00'
    """
    values = np.asarray(rgb, dtype=np.float64)
    if values.ndim > 1 and (isinstance(rgb, tuple) or _is_list_of_arrays(rgb)):
        values = np.moveaxis(values, 0, -1)
    byte = (np.clip(values, 0.0, 1.0) * 255).astype(np.int64)
    number = byte[..., 0] << 16 | byte[..., 1] << 8 | byte[..., 2]
    return number if number.ndim else int(number)


def _is_list_of_arrays(rgb: ArrayLike) -> bool:
    return isinstance(rgb, list) and all(isinstance(channel, np.ndarray) for channel in rgb)


def to_bytes(values: NDArray[Any], rounding: float = 0.0) -> NDArray[np.uint8]:
    """Intensities from 0 to 255: of floats from 0 to 1, of unsigned integers their highest 8 bits.

    Raises
    ------
    TypeError
        For values of another kind.

    Examples
    --------
    >>> to_bytes(np.array([0.0, 0.5, 2.0])).tolist(), to_bytes(np.array([0xABCD], np.uint16)).tolist()
    ([0, 127, 255], [171])
    """
    if values.dtype.kind == "f":
        return (np.clip(np.nan_to_num(values), 0.0, 1.0) * 255.0 + rounding).astype(np.uint8)
    if values.dtype.kind == "u":
        return (values >> (8 * values.dtype.itemsize - 8)).astype(np.uint8)
    raise TypeError(f"an image holds floats or unsigned integers, not {values.dtype}")


def of_shapes(
    count: int, color: ArrayLike, palette: Sequence[int] | None = None, chosen: ArrayLike | None = None
) -> NDArray[np.float64]:
    """The colours of `count` shapes: one row if they share one, else a row each.

    Parameters
    ----------
    count : int
        Number of shapes.
    color : array_like of int
        One colour, or one for each shape; ignored when there is a palette.
    palette : sequence of int, optional
        Colours to choose from.
    chosen : array_like of int, optional
        For each shape the number of its colour in `palette`.

    Raises
    ------
    ArgumentError
        When the number of colours is not the number of shapes, or an index is outside the palette.
    """
    if palette is not None:
        if chosen is None:
            raise refused(
                "a palette needs palette_indices", "`palette_indices=`, the index of each shape's colour"
            )
        places = np.asarray(chosen).astype(np.int64).ravel()
        if np.any((places < 0) | (places >= len(palette))):
            last = len(palette) - 1
            raise refused(
                f"palette_indices go from 0 to {last}, the palette's last colour", "give a longer `palette=`"
            )
        color = np.asarray(palette)[places]
    rgb = np.atleast_2d(hex_to_rgb(color))
    if len(rgb) not in (1, count):
        raise refused(f"{len(rgb)} colours for {count} shapes", "give one, or one for each")
    return rgb
