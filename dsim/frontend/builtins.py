"""Which Python objects are functions of the kernel language, by mark or by identity."""

from __future__ import annotations

import builtins
import math
import operator
from collections.abc import Hashable
from typing import Any

import numpy as np

_MATH = {
    "sin": "sin", "cos": "cos", "tan": "tan", "asin": "asin", "acos": "acos", "atan": "atan", "atan2": "atan2",
    "sinh": "sinh", "cosh": "cosh", "tanh": "tanh", "exp": "exp", "log": "log", "sqrt": "sqrt", "pow": "pow",
    "fabs": "abs", "floor": "int_floor", "ceil": "int_ceil", "trunc": "int", "log2": "log2", "log10": "log10",
    "exp2": "exp2", "hypot": "hypot", "radians": "radians", "degrees": "degrees", "isnan": "isnan",
    "isinf": "isinf",
}  # fmt: skip

_NUMPY = {
    "sin": "sin", "cos": "cos", "tan": "tan", "arcsin": "asin", "arccos": "acos", "arctan": "atan",
    "arctan2": "atan2", "sinh": "sinh", "cosh": "cosh", "tanh": "tanh", "exp": "exp", "log": "log", "sqrt": "sqrt",
    "abs": "abs", "absolute": "abs", "floor": "floor", "ceil": "ceil", "rint": "round", "maximum": "max",
    "minimum": "min", "power": "pow", "sign": "sign", "where": "select", "dot": "dot", "cross": "cross",
    "log2": "log2", "log10": "log10", "exp2": "exp2", "hypot": "hypot", "radians": "radians", "degrees": "degrees",
    "isnan": "isnan", "isinf": "isinf", "clip": "clamp", "mod": "mod",
}  # fmt: skip

PYTHON = {
    "abs": "abs", "min": "min", "max": "max", "pow": "pow", "sum": "sum", "all": "all", "any": "any",
    "round": "int_round", "int": "int", "float": "float", "bool": "bool", "len": "len", "print": "print",
    "range": "range", "zip": "zip", "enumerate": "enumerate", "reversed": "reversed",
}  # fmt: skip


def _known() -> dict[Any, str]:
    found: dict[Any, str] = {}
    for module, table in ((np, _NUMPY), (math, _MATH), (builtins, PYTHON)):
        for name, meaning in table.items():
            found[getattr(module, name)] = meaning
    found[operator.matmul] = "matmul"
    return found


_BY_IDENTITY = _known()


def builtin(value: Any) -> str | None:
    """The name in the language of what `value` is; None when it is no builtin.

    Functions and classes of the layers above say it by ``__dsim_builtin__``.
    """
    name = getattr(value, "__dsim_builtin__", None)
    if isinstance(name, str):
        return name
    if isinstance(value, Hashable):
        try:
            return _BY_IDENTITY.get(value)
        except TypeError:  # a tuple of unhashable things
            return None
    return None
