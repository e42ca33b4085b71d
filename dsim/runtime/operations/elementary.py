"""Elementary functions of traced arrays, each with its derivative."""

from __future__ import annotations

from typing import Any

import numpy as np

from dsim.runtime.operations.operation import Operation
from dsim.runtime.operations.traced_arrays import OPERATORS

_SLOPES = {
    np.sqrt: lambda _x, y: 0.5 / y,
    np.exp: lambda _x, y: y,
    np.log: lambda x, _y: 1.0 / x,
    np.sin: lambda x, _y: np.cos(x),
    np.cos: lambda x, _y: -np.sin(x),
    np.tanh: lambda _x, y: 1.0 - y * y,
    np.square: lambda x, _y: 2.0 * x,
    np.reciprocal: lambda _x, y: -(y * y),
}


def _elementary(ufunc: Any, slope: Any) -> Operation:
    """The operation of an elementary function, whose derivative is ``slope(x, y)``."""

    def function(x: Any) -> Any:
        return ufunc(x)

    function.__name__ = function.__qualname__ = ufunc.__name__
    made = Operation(function, check=False)
    made.jvp(lambda x, /, *, out, tangents: tangents[0] * slope(x, out))
    made.vjp(lambda x, /, *, out, adjoint: adjoint * slope(x, out))
    return made


OPERATORS.update({ufunc: _elementary(ufunc, slope) for ufunc, slope in _SLOPES.items()})
