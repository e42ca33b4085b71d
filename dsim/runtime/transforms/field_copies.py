"""Copies between fields as launches, which the contexts around them differentiate."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dsim.runtime.fields.fields import Field, zeros_like
from dsim.runtime.launching import host_kernels
from dsim.runtime.launching.contexts import dispatch
from dsim.runtime.state import turns


def become(fields: Sequence[Field], arrays: Sequence[np.ndarray]) -> None:
    """Sets fields to numbers that contexts take for constants."""
    for field, array in zip(fields, arrays, strict=True):
        given = zeros_like(field, "given")
        given.require_memory()[...] = array
        dispatch(host_kernels.form(host_kernels.Copy, field, given), ())
        field.touched = turns.current()


def copy(to: Any, of: Any) -> None:
    """Copies fields to fields, as launches that contexts see."""
    for target, source in zip(list(to), list(of), strict=True):
        dispatch(host_kernels.form(host_kernels.Copy, target, source), ())
        target.touched = turns.current()


def add(to: Sequence[Field], of: Sequence[Field]) -> None:
    """Adds fields to fields, as launches that contexts see."""
    for target, source in zip(to, of, strict=True):
        dispatch(host_kernels.form(host_kernels.Add, target, source), ())
        target.touched = turns.current()
