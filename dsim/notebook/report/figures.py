"""Formatting of numbers in a report: in JSON, and as short texts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

_MOST = 4  # the most numbers of a vector or matrix that a line shows in full
_FIRST = 3  # that stand there of others
_DIGITS = 6  # of what stands in JSON: sums over threads differ in the last ones from run to run


def plain(value: Any) -> Any:
    """Numbers and arrays of them as JSON has them: six digits, and ``"nan"``, ``"inf"`` and ``"-inf"``."""
    if isinstance(value, np.ndarray | list | tuple):
        listed = np.asarray(value).tolist()
        return [plain(v) for v in listed] if isinstance(listed, list) else plain(listed)
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, float):
        return float(f"{value:.{_DIGITS}g}") if math.isfinite(value) else str(value)
    return value


def short(value: Any) -> str:
    """A number with three digits, a vector in parentheses, a matrix by its rows."""
    array = np.asarray(value)
    if array.ndim:
        return f"({', '.join(short(v) for v in array)})"
    number = array.item()
    if isinstance(number, float):
        text = f"{number:.3g}"
        return "0" if text == "-0" else text
    return str(number)


def brief(value: Any) -> str:
    """As `short`, of many numbers only the first ones: with how many there are, and the length of all."""
    array = np.asarray(value)
    if array.size <= _MOST:
        return short(array)
    shape = "×".join(map(str, array.shape))
    if not array.any():
        return f"0 ({shape})"
    first = short(array[0]) if array.ndim > 1 else ", ".join(short(v) for v in array[:_FIRST])
    if array.ndim > 1 and array.shape[1] > _MOST:
        first = f"({', '.join(short(v) for v in array[0, :_FIRST])}, …)"
    return f"({first}, …) {shape}{'' if array.ndim > 1 else ' numbers'}, norm {short(norm(array))}"


def norm(value: Any) -> float:
    """The length of all numbers together, without overflow of their squares."""
    wide = np.abs(np.asarray(value).astype(np.float64)).ravel()
    largest = float(wide.max()) if wide.size else 0.0
    if largest == 0 or not np.isfinite(largest):
        return largest
    return largest * float(np.sqrt(np.sum((wide / largest) ** 2)))


def cut(text: str, most: int) -> str:
    """`text`, with an ellipsis in the place of what is more than `most` characters."""
    return text if len(text) <= most else text[: most - 1] + "…"


def listed(names: Sequence[str]) -> str:
    """``x``, ``x and v``, ``x, v and C``."""
    *others, last = names
    return f"{', '.join(others)} and {last}" if others else last


def size(count: int) -> str:
    """A number of bytes."""
    if count < 1024:
        return f"{count} bytes"
    for unit, scale in (("KiB", 1), ("MiB", 2)):
        if count < 1024 ** (scale + 1):
            return f"{count / 1024**scale:.3g} {unit}"
    return f"{count / 1024**3:.3g} GiB"


def count(number: int, what: str) -> str:
    """``1 field``, ``2,000 fields``."""
    return f"{number:,} {what}{'s' * (number != 1)}"


def precise(value: float) -> str:
    """A number with seven digits, for results."""
    return f"{value:.7g}"
