"""What can be the loss of a tape."""

from __future__ import annotations

from typing import Any

from dsim.diagnostics import Diagnostic, GradientError
from dsim.runtime.fields.fields import Field, kind_of


def check(loss: Any) -> Field:
    """`loss`, if it is a single float with a gradient, of whatever shape."""
    if not isinstance(loss, Field):
        raise GradientError(
            Diagnostic(
                "argument",
                f"the loss must be a field, not {kind_of(loss)}",
                help="Tape(loss=some_field)",
            )
        )
    if loss.require().size != 1:
        of = f" of vectors of shape {loss.entry_shape}" if loss.entry_shape else ""
        raise GradientError(
            Diagnostic(
                "argument",
                f"the loss must be a single number, {loss.quoted} has shape {loss.shape}{of}",
                help="sum into a field of shape () or (1,), or use kernel.grad() for several outputs",
            )
        )
    if not loss.dtype.is_float:
        message = f"the loss must be a float field, {loss.quoted} holds {loss.dtype}"
        advice = "declare it as `ds.field(ds.f32, shape=(), needs_grad=True)`"
        raise GradientError(Diagnostic("argument", message, help=advice))
    if not loss.needs_grad:
        message = f"the loss{f' {loss.quoted}' if loss.root.given_name else ''} has no gradient"
        raise GradientError(Diagnostic("missing-gradient", message, help="declare it with `needs_grad=True`"))
    return loss
