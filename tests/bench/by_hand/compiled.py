"""How the code by hand is compiled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba

FAST = {"reassoc", "nsz", "arcp", "contract", "afn"}  # what dsim's `fast_math` allows, too


def parallel(function: Callable[..., Any]) -> Any:
    """Compiled, with `prange` on as many threads as Numba has."""
    return numba.njit(parallel=True, fastmath=FAST, error_model="numpy")(function)


def inlined(function: Callable[..., Any]) -> Any:
    """Compiled, as a part of others."""
    return numba.njit(fastmath=FAST, error_model="numpy", inline="always")(function)
