"""What the benchmark's cases are made of: fields of the default float type, filled from NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import dsim as ds

# A function that launches, the loss, and the field by which the loss is differentiated.
Case = tuple[Callable[[], None], Any, Any]


def scalars(*shape: int, grad: bool = True) -> Any:
    return ds.field(float, shape=shape, needs_grad=grad)


def vectors(*shape: int, n: int = 2, grad: bool = True) -> Any:
    return ds.Vector.field(n, float, shape=shape, needs_grad=grad)


def matrices(*shape: int, n: int = 2, m: int = 2, grad: bool = True) -> Any:
    return ds.Matrix.field(n, m, float, shape=shape, needs_grad=grad)


def integers(values: np.ndarray) -> Any:
    """A field of these integers."""
    made = ds.field(ds.i32, shape=values.shape)
    made.from_numpy(values.astype(np.int32))
    return made


def fill(field: Any, values: np.ndarray) -> Any:
    """`field`, with these numbers in it."""
    field.from_numpy(values.astype(field.to_numpy().dtype))
    return field


def random(*shape: int, seed: int = 0) -> np.ndarray:
    """Numbers between 0 and 1, always the same."""
    return np.random.default_rng(seed).random(shape)
