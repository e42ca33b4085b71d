"""Validation of arrays passed by the user: their type, and whether their elements lie in their memory."""

from __future__ import annotations

import mmap
import sys
from typing import Any

import numpy as np

from dsim.runtime.fields.aliases import extent
from dsim.runtime.state.stack import opened


def as_numpy(value: Any) -> np.ndarray:
    """A NumPy array, or PyTorch's tensor on the CPU, as a plain NumPy array of the same memory.

    Raises
    ------
    TypeError
        When it is not an array, has a mask, or elements outside the memory that it is a
        view of.
    """
    if isinstance(value, np.ndarray):
        if has_mask(value):
            raise TypeError("got a masked array, whose mask kernels ignore")
        return _inside(np.asarray(value))  # a subclass may report a wrong shape
    if not is_tensor(value):
        raise TypeError(f"got an object of type `{type(value).__name__}`")
    if value.device.type != "cpu":
        raise TypeError(f"got a tensor on the device {value.device}")
    if value.requires_grad and opened():
        raise TypeError("got a tensor that requires a gradient, which a tape does not set: pass `.detach()`")
    return value.detach().numpy()


def is_tensor(value: Any) -> bool:
    """Whether `value` is a tensor of PyTorch's."""
    return hasattr(value, "__dlpack__") and hasattr(value, "requires_grad")


def numbers_in(value: Any) -> np.ndarray | None:
    """The memory of a NumPy array, or of a tensor on the CPU; None of anything else, and without numbers."""
    if not isinstance(value, np.ndarray):
        if not is_tensor(value) or value.device.type != "cpu":
            return None
        value = value.detach().numpy()
    array = np.asarray(value)
    return array if array.nbytes and not array.dtype.hasobject and _is_inside(array) else None


def numbers_of(value: Any) -> np.ndarray:
    """The numbers of anything that NumPy converts to an array.

    Raises
    ------
    TypeError
        When NumPy cannot convert it, when some are masked, or lie outside the memory that `value` is a view
        of.
    """
    if is_masked(value):
        raise TypeError("got an array with masked numbers: fill them, as with `.filled(0)`")
    try:
        array = np.asarray(value)
    except ValueError as wrong:
        advice = "give its rows the same length" if "inhomogeneous" in str(wrong) else wrong
        raise TypeError(f"got {type(value).__name__} that is not an array: {advice}") from None
    return _inside(array)


def is_masked(value: Any) -> bool:
    """Whether an array, or one in a list, hides numbers."""
    if isinstance(value, list | tuple):
        return "numpy.ma" in sys.modules and any(map(is_masked, value))
    return has_mask(value) and np.ma.is_masked(value)


def has_mask(value: Any) -> bool:
    """Whether `value` is a masked array of NumPy's."""
    kind = getattr(sys.modules.get("numpy.ma"), "MaskedArray", None)  # which NumPy imports when it is wanted
    return kind is not None and isinstance(value, kind)


def _inside(array: np.ndarray) -> np.ndarray:
    if not _is_inside(array):
        raise TypeError("got a view that extends beyond the memory of its base")
    return array


def is_plain(array: np.ndarray) -> bool:
    """Whether an array owns its memory, or is an ordinary view of one that does."""
    base = array.base
    return base is None or (type(base) is np.ndarray and base.base is None)


def _is_inside(array: np.ndarray) -> bool:
    """Whether all elements lie in the memory that `array` is a view of; True where that is unknown."""
    if is_plain(array):
        return True
    base: Any = array.base
    while base is not None:
        if isinstance(base, np.ndarray):
            if np.ndarray.flags.__get__(base).owndata:
                break
            base = np.ndarray.base.__get__(base)
        elif isinstance(base, memoryview):
            base = base.obj
        elif str(type(base).__module__).startswith("numpy."):  # inserted by as_strided(); ctypes' have none
            base = getattr(base, "base", None)
        else:
            break
    return _reaches(base, *extent(array))


def _reaches(owner: Any, low: int, high: int) -> bool:
    """Whether the memory of `owner` goes at least from one address to before another one, if it says so."""
    if isinstance(owner, np.ndarray):
        begin, end = extent(np.asarray(owner))
    else:
        try:
            begin, end = extent(np.frombuffer(owner, np.uint8))
        except (TypeError, ValueError, BufferError):
            return True
    if isinstance(owner, mmap.mmap):
        end = min(end, begin + _length(owner))
    return low == high or (begin <= low and high <= end)


def _length(owner: mmap.mmap) -> int:
    """The present size of a mapped file, which may have become shorter."""
    try:
        return owner.size()
    except OSError:  # no file
        return len(owner)
