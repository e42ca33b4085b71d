"""Arrays as the bytes of a frame: quantised where the eye cannot tell."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

_ALIGNED = 4  # the page makes typed arrays of the bytes without copying them
_TYPES = {"u8": np.dtype("u1"), "u16": np.dtype("<u2"), "u32": np.dtype("<u4"), "f32": np.dtype("<f4")}
_NAMES = {dtype: name for name, dtype in _TYPES.items()}
_FARTHEST = 1e300  # differences of limits are finite


@dataclass
class Packer:
    """Collects the arrays of one frame in one buffer; each method gives the JSON that describes its array."""

    parts: list[bytes] = field(default_factory=list)
    size: int = 0

    def plain(self, array: np.ndarray) -> dict[str, Any]:
        """An array of unsigned integers or of `f32`, unchanged."""
        dtype = array.dtype.newbyteorder("<")
        described = {"type": _NAMES[dtype], "offset": self.size, "shape": list(array.shape)}
        data = np.ascontiguousarray(array, dtype).tobytes()
        self.parts.append(data + bytes(-len(data) % _ALIGNED))
        self.size += len(self.parts[-1])
        return described

    def quantised(self, array: np.ndarray, low: Any, high: Any, bits: int) -> dict[str, Any]:
        """An array in 8 or 16 bits between `low` and `high`, one for each of the last axis or one for all."""
        codes = quantise(array, low, high, bits)
        return {**self.plain(codes), "low": np.asarray(low).tolist(), "high": np.asarray(high).tolist()}

    def buffer(self) -> bytes:
        """All arrays, one after the other."""
        return b"".join(self.parts)


def quantise(array: np.ndarray, low: Any, high: Any, bits: int) -> np.ndarray:
    """Codes of numbers between `low` and `high`; numbers beyond have the nearest code.

    The largest code stands for numbers that are not finite.
    """
    codes = np.empty(array.shape, f"u{bits // 8}")
    low, width = _range(low, high)
    if low.ndim == 0:
        _quantise(array, codes, low, width)
    else:
        # A column at a time: an inner loop over 2 or 3 numbers costs more than their arithmetic.
        for axis in range(array.shape[-1]):
            _quantise(array[..., axis], codes[..., axis], low[axis], width[axis])
    return codes


def _quantise(numbers: np.ndarray, codes: np.ndarray, low: Any, width: Any) -> None:
    """Writes the codes of numbers with one pair of limits."""
    top = np.iinfo(codes.dtype).max
    with np.errstate(invalid="ignore", over="ignore"):
        scaled = np.subtract(numbers, low, dtype=np.float64)
        scaled /= width
    np.clip(scaled, 0.0, 1.0, out=scaled)
    scaled *= top - 1
    scaled += 0.5
    missing = ~np.isfinite(numbers)
    if missing.any():
        scaled[missing] = top
    codes[...] = scaled


def restored(codes: np.ndarray, low: Any, high: Any) -> np.ndarray:
    """The numbers of `codes`, as the page computes them."""
    top = np.iinfo(codes.dtype).max
    low, width = _range(low, high)
    numbers = low + codes / (top - 1) * width
    return np.where(codes == top, np.nan, numbers)


def unpacked(described: dict[str, Any], data: bytes) -> np.ndarray:
    """The array that `described` locates in the buffer of a frame, as the page reads it."""
    codes = codes_of(described, data)
    return restored(codes, described["low"], described["high"]) if "low" in described else codes


def codes_of(described: dict[str, Any], data: bytes) -> np.ndarray:
    """The codes or numbers that `described` locates, as they are."""
    shape = described["shape"]
    dtype, count = _TYPES[described["type"]], int(np.prod(shape, dtype=np.int64))
    return np.frombuffer(data, dtype, count, described["offset"]).reshape(shape)


def shade_bytes(shades: np.ndarray) -> np.ndarray:
    """Intensities from 0 to 1 as bytes; 0 for what is not finite."""
    return (np.clip(np.nan_to_num(shades, posinf=0.0, neginf=0.0), 0.0, 1.0) * 255 + 0.5).astype(np.uint8)


def limits_of(array: np.ndarray) -> tuple[float, float]:
    """The least and the greatest finite number; 0 and 1 when there is none."""
    known = np.isfinite(array)
    finite = array if known.all() else array[known]
    if not finite.size:
        return 0.0, 1.0
    low, high = float(finite.min()), float(finite.max())
    return max(-_FARTHEST, min(low, _FARTHEST)), min(_FARTHEST, max(high, -_FARTHEST))


def _range(low: Any, high: Any) -> tuple[np.ndarray, np.ndarray]:
    low, high = np.asarray(low, np.float64), np.asarray(high, np.float64)
    return low, np.where(high > low, high - low, 1.0)
