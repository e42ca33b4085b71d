"""Bit operations on integers, and truncating division: in kernels and outside.

Outside kernels an integer has the type `default_ip`, or a wider one if the value needs it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dsim.api.functions import builtin
from dsim.runtime.fields.host_values.values import Array
from dsim.runtime.state.settings import current


def _entrywise(one: Callable[..., Any], *args: Any) -> Any:
    lengths = {len(a) for a in args if isinstance(a, Array)}
    if not lengths:
        return one(*args)
    if len(lengths) > 1:
        raise ValueError(f"vectors of {' and '.join(map(str, sorted(lengths)))} do not match")
    (n,) = lengths
    rows = ([a[i] if isinstance(a, Array) else a for a in args] for i in range(n))
    return Array([_entrywise(one, *row) for row in rows])


def _width(value: int) -> int:
    return max(current().default_ip.bits, 64 if value.bit_length() > 31 else 0)


def _bits(value: Any) -> int:
    """`value` as the unsigned integer of the same bits."""
    if isinstance(value, float):
        raise TypeError("bit operations need integers, got a float")
    return int(value) & (1 << _width(int(value))) - 1


@builtin("popcnt")
def popcnt(x: Any) -> Any:
    """The number of bits of the integer `x` that are set.

    Examples
    --------
    >>> popcnt(0b1011), popcnt(-1)
    (3, 32)
    """
    return _entrywise(lambda v: _bits(v).bit_count(), x)


@builtin("clz")
def clz(x: Any) -> Any:
    """The number of leading zero bits of the integer `x`: its width for 0.

    Examples
    --------
    >>> clz(1), clz(0), clz(-1)
    (31, 32, 0)
    """
    return _entrywise(lambda v: _width(int(v)) - _bits(v).bit_length(), x)


@builtin("bit_shr")
def bit_shr(x: Any, n: Any) -> Any:
    """Logical right shift of the integer `x` by `n` bits: zeros are shifted in, whatever the sign.

    Examples
    --------
    >>> bit_shr(-1, 28), -1 >> 28
    (15, -1)
    """
    return _entrywise(lambda v, by: _bits(v) >> (int(by) & _width(int(v)) - 1), x, n)


def _quotient(x: Any, y: Any) -> Any:
    if isinstance(x, float) or isinstance(y, float):
        return x / y
    return abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)


@builtin("raw_div")
def raw_div(x: Any, y: Any) -> Any:
    """``x / y``; for integers truncated towards 0, as in C.

    Examples
    --------
    >>> raw_div(-7, 2), -7 // 2
    (-3, -4)
    """
    return _entrywise(_quotient, x, y)


@builtin("raw_mod")
def raw_mod(x: Any, y: Any) -> Any:
    """The remainder of ``x / y`` truncated towards 0, with the sign of `x` as in C.

    Examples
    --------
    >>> raw_mod(-4, 3), -4 % 3
    (-1, 2)
    """
    return _entrywise(lambda a, b: abs(a) % abs(b) * (-1 if a < 0 else 1), x, y)
