"""Which Python objects are functions of the kernel language, by mark or by identity."""

from __future__ import annotations

import builtins
import math
import operator
import sys
from collections.abc import Hashable
from functools import cache
from types import ModuleType
from typing import Any

import numpy as np

from dsim.ir.primitives import TABLE

# Builtins that are not a single primitive.
_MATH = {
    **{name: name for name in (
        "log2", "log10", "exp2", "radians", "degrees", "isinf", "isfinite", "fmod",
    )},
    "floor": "int_floor", "ceil": "int_ceil", "trunc": "int", "pow": "float_pow",
}  # fmt: skip

_NUMPY = {
    **{name: name for name in (
        "sign", "dot", "cross", "log2", "log10", "exp2", "radians", "degrees", "isinf", "isfinite", "fmod",
    )},
    "clip": "clamp",
}  # fmt: skip

_SPECIAL = {"digamma": "digamma", "psi": "digamma", "exp2": "exp2"}

PYTHON = {
    **{name: name for name in (
        "abs", "min", "max", "pow", "sum", "all", "any", "int", "float", "bool", "len", "print", "range",
        "zip", "enumerate", "reversed", "isinstance",
    )},
    "round": "int_round",
}  # fmt: skip

_OPERATORS = (
    "add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "and_", "or_", "xor", "lshift",
    "rshift", "eq", "ne", "lt", "le", "gt", "ge", "neg", "pos", "invert", "not_",
)  # fmt: skip


def _known() -> dict[Any, str]:
    found: dict[Any, str] = {}
    for spelled in (row.spelling for row in TABLE.values() if row.spelling is not None):
        found.update({getattr(np, name): spelled.name for name in spelled.numpy})
        found.update({getattr(math, name): spelled.name for name in spelled.math})
    for module, table in ((np, _NUMPY), (math, _MATH), (builtins, PYTHON)):
        for name, meaning in table.items():
            found[getattr(module, name)] = meaning
    for name in _OPERATORS:
        found[getattr(operator, name)] = f"operator.{name}"
    return found


_BY_IDENTITY = _known()


@cache
def _of_scipy(module: ModuleType) -> dict[Any, str]:
    """The functions of `scipy.special`, which programs that use them have imported."""
    found = {getattr(module, name): meaning for name, meaning in _SPECIAL.items()}
    for spelled in (row.spelling for row in TABLE.values() if row.spelling is not None):
        found.update({getattr(module, name): spelled.name for name in spelled.special})
    return found


def builtin(value: Any) -> str | None:
    """The name of the builtin that `value` is; None when it is not one.

    Functions and classes of higher layers declare it by ``__dsim_builtin__``.
    """
    name = getattr(value, "__dsim_builtin__", None)
    if isinstance(name, str):
        return name
    if isinstance(value, Hashable):
        try:
            known = _BY_IDENTITY.get(value)
            special = sys.modules.get("scipy.special")
            return known if known or special is None else _of_scipy(special).get(value)
        except TypeError:  # a tuple of unhashable things
            return None
    return None
