"""Compile-time checks and prints, and Taichi's optimization hints, which have no effect."""

from __future__ import annotations

import sys
from typing import Any

from dsim.api.functions import builtin


@builtin("static_assert")
def static_assert(cond: Any, msg: Any = "") -> None:
    """Raises at compile time when the condition is false; outside kernels a plain `assert`.

    Examples
    --------
    >>> static_assert(1 + 1 == 2, "sums are right")
    """
    if not cond:
        raise AssertionError(msg)


@builtin("static_print")
def static_print(*values: Any, sep: str = " ", end: str = "\n") -> None:
    """Prints when a kernel is compiled: compile-time values, and the types of all others.

    Examples
    --------
    >>> import dsim as ti
    >>> x = ti.field(ti.f32, shape=(2, 3))
    >>> @ti.kernel
    ... def clear(a: ti.f32):
    ...     ti.static_print(x.shape, a)
    ...     for i, j in x:
    ...         x[i, j] = a
    >>> clear(0.0)
    (2, 3) <an f32>
    """
    sys.stdout.write(sep.join(map(str, values)) + end)


@builtin("block_local")
def block_local(*fields: Any) -> None:
    """Taichi's hint to cache a field in a GPU's shared memory; without effect."""


@builtin("cache_read_only")
def cache_read_only(*fields: Any) -> None:
    """Taichi's hint to load a field through a GPU's read-only cache; without effect."""


@builtin("no_activate")
def no_activate(*fields: Any) -> None:
    """Taichi's hint for sparse fields; without effect."""


@builtin("assume_in_range")
def assume_in_range(val: Any, base: Any, low: Any, high: Any) -> Any:
    """Returns `val`; tells Taichi that it lies between ``base + low`` and ``base + high``.

    dsim checks indices regardless.
    """
    return val


@builtin("loop_unique")
def loop_unique(val: Any, covers: Any = None) -> Any:
    """Returns `val`; tells Taichi that iterations do not share it, which dsim's dependence test decides."""
    return val
