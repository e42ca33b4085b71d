"""PyTorch's tensors as arrays, and the other way round. PyTorch is imported when a tensor is asked for."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

from dsim.diagnostics import Diagnostic, LaunchError, LaunchTypeError


def tensor_of(array: np.ndarray, device: Any = None) -> Any:
    """A tensor with the numbers of `array`, on `device` or the CPU; there it shares the array's memory.

    Raises
    ------
    LaunchError
        Without PyTorch.
    """
    try:
        torch = importlib.import_module("torch")
    except ImportError:
        message = "to_torch() needs PyTorch, which is not installed"
        advice = "`pip install torch`, or `to_numpy()`"
        raise LaunchError(Diagnostic("argument", message, help=advice)) from None
    tensor = torch.from_numpy(array)
    return tensor if device is None else tensor.to(device)


def array_of(tensor: Any) -> np.ndarray:
    """The numbers of `tensor`, wherever it lies, without its history.

    Raises
    ------
    LaunchTypeError
        When it is no tensor.
    """
    if not (hasattr(tensor, "detach") and hasattr(tensor, "cpu")):
        message = f"from_torch() takes a PyTorch tensor, not {type(tensor).__name__}"
        advice = "`from_numpy()` takes arrays" if isinstance(tensor, np.ndarray) else ""
        raise LaunchTypeError(Diagnostic("argument", message, help=advice))
    return tensor.detach().cpu().numpy()
