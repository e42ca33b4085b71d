"""The functions of Python's module `operator`, as operators."""

from __future__ import annotations

import operator
from collections.abc import Callable

from dsim.frontend.expressions import overloads
from dsim.frontend.expressions.expressions import operate
from dsim.frontend.frames.frame import Frame
from dsim.frontend.values.operators import EXACT
from dsim.frontend.values.values import Value

_UNARY = {"-": operator.neg, "+": operator.pos, "~": operator.invert, "not": operator.not_}


def _binary(sign: str) -> Callable[..., Value]:
    def apply(f: Frame, hint: str, a: Value, b: Value) -> Value:
        return operate(f, sign, a, b, hint)

    return apply


def _of_one(sign: str) -> Callable[..., Value]:
    def apply(f: Frame, hint: str, a: Value) -> Value:
        return overloads.unary(f, sign, a, hint)

    return apply


FUNCTIONS: dict[str, Callable[..., Value]] = {
    **{f"operator.{function.__name__}": _binary(sign) for sign, function in EXACT.items()},
    **{f"operator.{function.__name__}": _of_one(sign) for sign, function in _UNARY.items()},
}
