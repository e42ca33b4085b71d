"""Setting gradients to zero."""

from __future__ import annotations

from typing import Literal

from dsim.diagnostics import Diagnostic, GradientError
from dsim.diagnostics.frames import outermost
from dsim.runtime.fields.fields import companions_with_memory, kind_of
from dsim.runtime.launching import host_kernels
from dsim.runtime.launching.contexts import dispatch
from dsim.runtime.recording import zeros

_WHICH = ("bar", "dot")


@outermost
def clear_all_gradients(which: Literal["bar", "dot"] = "bar") -> None:
    """Sets the gradients of all fields to 0 (with ``"dot"``, all tangents)."""
    if not isinstance(which, str) or which not in _WHICH:
        message = (
            f"`clear_all_gradients` sets the gradients of all fields to 0, and takes no {kind_of(which)}"
        )
        advice = "write `clear_all_gradients()`, or for one field `x.grad.fill(0)`"
        raise GradientError(Diagnostic("argument", message, help=advice))
    zeros.forget(which)
    for f in companions_with_memory(which):
        if f.touched:
            dispatch(host_kernels.form(host_kernels.Fill, f), (0.0,) * f.numbers)
            f.touched = 0
