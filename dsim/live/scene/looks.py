"""What a person asks of the looks of a layer, checked."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from matplotlib.colors import to_hex

from dsim.live.scene.numbers import refused


def hex_colour(color: Any) -> str:
    """A colour of matplotlib's as ``#rrggbb``.

    Raises
    ------
    DsimError
        When matplotlib has no such colour.
    """
    try:
        return to_hex(color)
    except (ValueError, TypeError):
        raise refused(f"there is no colour {color!r}", 'such as "tomato", "C0" or "#3070b0"') from None


def ends_of_map(limits: Any) -> tuple[float, float]:
    """The two numbers at the ends of a colour map.

    Raises
    ------
    DsimError
        When they are not two finite numbers, the lower one first.
    """
    found = pair(limits)
    if found is None:
        raise refused(f"`limits` are a lower and a higher number, not {limits!r}", "limits=(0, 1)")
    return found


def pixels(size: Any) -> float:
    """A number of pixels.

    Raises
    ------
    DsimError
        When it is not a positive number.
    """
    try:
        found = float(size)
    except (TypeError, ValueError):
        found = 0.0
    if not 0.0 < found < math.inf:
        raise refused(f"`size` is a number of pixels, not {size!r}", "size=4")
    return found


def pair(numbers: Any) -> tuple[float, float] | None:
    """A lower and a higher finite number; None when `numbers` are not."""
    try:
        low, high = (float(number) for number in numbers)
    except (TypeError, ValueError):
        return None
    return (low, high) if -math.inf < low < high < math.inf else None


def pairs(numbers: Sequence[Any]) -> list[list[float]] | None:
    """The limits of 2 or 3 axes; None when `numbers` are not."""
    try:
        found = [pair(each) for each in numbers]
    except TypeError:
        return None
    return [list(each) for each in found if each is not None] if len(found) in (2, 3) and all(found) else None
