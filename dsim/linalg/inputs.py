"""Compile-time checks of the arguments of the decompositions: shapes and types."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from dsim.ir.types import ScalarType, promote
from dsim.runtime.state import settings


def float_type(
    name: str, shape: tuple[int, ...], sizes: tuple[int, ...], dt: Any, *given: ScalarType
) -> ScalarType:
    """The float type that `name` computes in: `dt`, or without one that of its arguments.

    Raises
    ------
    TypeError
        When `dt` is not a float type, or `shape` not that of a square matrix of one of the `sizes`.
    """
    if len(shape) != 2 or shape[0] != shape[1] or shape[0] not in sizes:
        wanted = " or ".join(f"{n} by {n}" for n in sizes)
        raise TypeError(f"`{name}` takes a matrix of {wanted}, got one of shape {shape}")
    default = settings.current().default_fp
    if dt is None:
        floats = [t if t.is_float else default for t in given]
        return functools.reduce(promote, floats)
    wanted = settings.default_type(dt)
    if wanted is None or not wanted.is_float:
        raise TypeError(f"`{name}` computes in a float type such as f64, not in {dt!r}")
    return wanted


def rounding(real: ScalarType) -> float:
    """Machine epsilon: the distance from 1 to the next number."""
    return float(np.finfo(real.numpy).eps)


def smallest(real: ScalarType) -> float:
    """The smallest normal number."""
    return float(np.finfo(real.numpy).tiny)
