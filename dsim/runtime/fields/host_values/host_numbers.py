"""Numbers of vectors and matrices outside kernels: creation, reading, writing, and their errors."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable
from typing import Any

import numpy as np

from dsim.diagnostics import BoundsError, Diagnostic, LaunchTypeError
from dsim.diagnostics.places import caller
from dsim.frontend.values.values import describe_shape
from dsim.runtime.state.notices import warn


def made(values: Any, dtype: np.dtype | None) -> np.ndarray:
    """`values` as an array of type `dtype`. Integers that this does not hold wrap around, with a warning."""
    try:
        return np.array(values, dtype=dtype)
    except (OverflowError, ValueError) as wrong:
        if dtype is None or dtype.kind not in "iu":
            raise
        _refuse_infinite(values, dtype)
        if isinstance(wrong, ValueError):
            raise
        return _wrapped(values, dtype)


def got(array: np.ndarray, key: Any, what: str = "") -> Any:
    """The numbers at `key`; `what` names the owner in messages."""
    try:
        return array[key]
    except IndexError:
        raise _outside(array, key, what) from None


def put(array: np.ndarray, key: Any, value: Any) -> None:
    """Sets the numbers at `key`. Integers that the array's type does not hold wrap around, with a warning."""
    try:
        array[key] = value
    except IndexError:
        raise _outside(array, key, "") from None
    except OverflowError:
        _refuse_infinite(value, array.dtype)
        array[key] = _wrapped(value, array.dtype)
    except (TypeError, ValueError) as wrong:
        message = f"{describe_shape(array.shape)} does not accept this: {wrong}"
        advice = "assign as many numbers as there are entries"
        raise LaunchTypeError(Diagnostic("type", message, help=advice)) from None


def say_wraps(given: Iterable[Any], kept: np.ndarray) -> None:
    """Warns of the first number that `kept` has changed; a single number fills all."""
    for number, other in zip(given, kept.ravel().tolist(), strict=False):
        if int(number) != other:
            message = f"{number} does not fit into {kept.dtype.name}: it becomes {other}"
            advice = "use a wider type, or reduce the number first"
            warn([Diagnostic("type-change", message, caller(), help=advice)])
            return


def wrapped(whole: int, dtype: np.dtype) -> int:
    """An integer reduced to the lowest bits of its type."""
    lowest = int(np.iinfo(dtype).min)
    return (whole - lowest) % (1 << 8 * dtype.itemsize) + lowest


def _refuse_infinite(values: Any, dtype: np.dtype) -> None:
    """Refuses NaN and infinities where integers are wanted."""
    for number in np.array(values, dtype=object).ravel().tolist():
        if isinstance(number, float) and not math.isfinite(number):
            message = f"{number} is not an integer, and {dtype.name} holds integers"
            raise LaunchTypeError(Diagnostic("type", message, help="use a float type, such as `ds.f64`"))


def _wrapped(values: Any, dtype: np.dtype) -> np.ndarray:
    given = np.array(values, dtype=object)
    numbers = given.ravel().tolist()
    made = np.array([wrapped(int(n), dtype) for n in numbers], dtype).reshape(given.shape)
    say_wraps(numbers, made)
    return made


def _outside(array: np.ndarray, key: Any, what: str) -> Exception:
    """The error about the index `key`."""
    whole = (f"an entry of {what}, " if what else "") + describe_shape(array.shape)
    keys = key if isinstance(key, tuple) else (key,)
    last = f"the last one is `[{', '.join(str(n - 1) for n in array.shape)}]`"
    for k in keys:
        if not isinstance(k, slice | list | np.ndarray | None) and not hasattr(k, "__index__"):
            message = f"an index into {whole} must be an integer, got {type(k).__name__}"
            return LaunchTypeError(Diagnostic("index", message, help=f"count from 0: {last}"))
    if len(keys) > array.ndim:
        many = "1 index" if array.ndim == 1 else f"{array.ndim} indices"
        message = f"{whole} needs {many}, got {len(keys)}"
        return LaunchTypeError(Diagnostic("index", message, help=f"count from 0: {last}"))
    shown = ", ".join(str(operator.index(k)) if hasattr(k, "__index__") else str(k) for k in keys)
    message = f"index {shown if len(keys) == 1 else f'({shown})'} is outside {whole}"
    return BoundsError(Diagnostic("out-of-bounds", message, help=f"indices count from 0: {last}"))
