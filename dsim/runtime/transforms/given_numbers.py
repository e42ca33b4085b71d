"""Numbers that users give to transforms: those that a mask hides, or that are not real, are refused."""

from __future__ import annotations

from typing import Any

import numpy as np

from dsim.diagnostics import Diagnostic, GradientError
from dsim.runtime.fields.brought import numbers_of


def numbers(value: Any, what: str) -> np.ndarray:
    """`value` as an array, complex or not.

    Raises
    ------
    GradientError
        When it is no array, or some of it is masked; `what` says what it is for.
    """
    try:
        return numbers_of(value)
    except TypeError as wrong:
        problem, _, advice = str(wrong).partition(": ")
        raise GradientError(Diagnostic("argument", f"{what} takes numbers: {problem}", help=advice)) from None


def real_numbers(value: Any, dtype: Any, what: str) -> np.ndarray:
    """`value` as an array of real numbers of type `dtype`.

    Raises
    ------
    GradientError
        When it is no array, or some of it is masked or complex.
    TypeError, ValueError
        When its elements are no numbers.
    """
    array = numbers(value, what)
    if array.dtype.kind == "c":
        message = f"{what} takes real numbers, got {array.dtype}"
        raise GradientError(Diagnostic("argument", message, help="pass the real part: `.real`"))
    return array.astype(dtype)
