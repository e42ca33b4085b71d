"""The functions of the dialect that are primitives, one line each; the table `ir/primitives.py` defines them.

In kernels the frontend resolves them by name; outside they call the table's Python implementation.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from dsim.api.functions import Function, builtin, cast, digamma, of_table


def _whole(name: str) -> Function:
    """A rounding function, whose result may be cast to `dtype`."""
    plain = of_table(name)

    def apply(x: Any, dtype: Any = None) -> Any:
        return plain(x) if dtype is None else cast(plain(x), dtype)

    apply.__doc__ = plain.__doc__
    return builtin(name)(apply)


def _select(cond: Any, yes: Any, no: Any) -> Any:
    return np.where(np.asarray(cond) != 0, yes, no)[()]


def _reduced(pair: Function) -> Function:
    def reduce(*args: Any) -> Any:
        return functools.reduce(pair, args if len(args) > 1 else list(*args))

    return reduce


sin = of_table("sin")
cos = of_table("cos")
tan = of_table("tan")
asin = of_table("asin")
acos = of_table("acos")
atan = of_table("atan")
atan2 = of_table("atan2")
sinh = of_table("sinh")
cosh = of_table("cosh")
tanh = of_table("tanh")
exp = of_table("exp")
log = of_table("log")
sqrt = of_table("sqrt")
rsqrt = of_table("rsqrt")
expm1 = of_table("expm1")
log1p = of_table("log1p")
cbrt = of_table("cbrt")
erf = of_table("erf")
erfc = of_table("erfc")
lgamma = of_table("lgamma")
polygamma = of_table("polygamma")
hypot = of_table("hypot")
pow = of_table("pow", np.power)
floor = _whole("floor")
ceil = _whole("ceil")
round = _whole("round")
abs = of_table("abs")
max = of_table("max", _reduced(lambda a, b: np.where(a > b, a, b)[()]))
min = of_table("min", _reduced(lambda a, b: np.where(a < b, a, b)[()]))
select = of_table("select", _select)

__all__ = [
    "abs", "acos", "asin", "atan", "atan2", "cbrt", "ceil", "cos", "cosh", "digamma", "erf", "erfc", "exp",
    "expm1", "floor", "hypot", "lgamma", "log", "log1p", "max", "min", "polygamma", "pow", "round", "rsqrt",
    "select", "sin", "sinh", "sqrt", "tan", "tanh",
]  # fmt: skip
