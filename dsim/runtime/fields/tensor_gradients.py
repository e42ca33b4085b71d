"""``kernel.grad()`` on PyTorch tensors that require gradients: their ``.grad`` are the adjoints.

For as long as the adjoint runs, an ndarray stands for each of them. Tensors on the CPU only; the others are
refused where arguments are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np

from dsim.frontend.values.types import ArrayType
from dsim.ir.types import from_numpy
from dsim.runtime.fields.fields import BAR
from dsim.runtime.fields.ndarrays import Ndarray
from dsim.runtime.fields.tensors import array_of, tensor_of
from dsim.runtime.state import turns


@contextmanager
def as_ndarrays(args: tuple[Any, ...], arrays: Mapping[int, ArrayType]) -> Iterator[tuple[Any, ...]]:
    """`args` with ndarrays for the tensors that require gradients; afterwards those have their gradients."""
    given, made = list(args), dict[int, tuple[Any, Ndarray]]()
    for n, kind in arrays.items():
        tensor = args[n]
        if requires_gradient(tensor):
            if id(tensor) not in made:
                made[id(tensor)] = (tensor, _ndarray(tensor, kind))
            given[n] = made[id(tensor)][1]
    yield tuple(given)
    for tensor, array in made.values():
        _give_back(tensor, array.grad.require_memory())


def requires_gradient(value: Any) -> bool:
    """Whether `value` is a tensor on the CPU, of floats, that requires a gradient."""
    if not getattr(value, "requires_grad", False) or not hasattr(value, "__dlpack__"):
        return False
    return value.device.type == "cpu" and value.detach().numpy().dtype.kind == "f"


def _ndarray(tensor: Any, kind: ArrayType) -> Ndarray:
    numbers = array_of(tensor)
    axes = max(numbers.ndim - kind.entry_axes, 0)
    made = Ndarray(from_numpy(numbers.dtype), numbers.shape[axes:], "")
    made.allocate(numbers.shape[:axes])
    made.require()[...] = numbers
    made.want(BAR)
    if tensor.grad is not None:
        made.grad.require()[...] = array_of(tensor.grad)
        made.grad.touched = turns.current()
    return made


def _give_back(tensor: Any, gradient: np.ndarray) -> None:
    if tensor.grad is None:
        tensor.grad = tensor_of(gradient.copy())
    else:
        array_of(tensor.grad)[...] = gradient
