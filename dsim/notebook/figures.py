"""Numbers as a report has them: in JSON, and as short texts."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

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


def size(count: int) -> str:
    """A number of bytes."""
    if count < 1024:
        return f"{count} bytes"
    for unit, scale in (("KiB", 1), ("MiB", 2)):
        if count < 1024 ** (scale + 1):
            return f"{count / 1024**scale:.3g} {unit}"
    return f"{count / 1024**3:.3g} GiB"


def count(number: int, what: str) -> str:
    """``1 field``, ``2 fields``."""
    return f"{number} {what}{'s' * (number != 1)}"


def precise(value: float) -> str:
    """A number with seven digits: a result rather than a mark."""
    return f"{value:.7g}"
