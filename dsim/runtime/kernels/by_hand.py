"""``kernel.grad()``: the adjoint of one launch, run by hand, from and to the fields' own ``.grad``."""

from __future__ import annotations

from typing import Any

from dsim.diagnostics import Diagnostic, GradientError
from dsim.runtime.driver.programs import Keys
from dsim.runtime.fields.fields import BAR, Field
from dsim.runtime.launching import host_kernels
from dsim.runtime.launching.contexts import dispatch
from dsim.runtime.launching.forms import Form
from dsim.runtime.launching.shadow_arrays import Mirror
from dsim.runtime.saving import overwrite_messages
from dsim.runtime.state.notices import warn


def backward(form: Form, values: tuple[Any, ...]) -> None:
    """Runs the adjoint of `form` at the current state.

    Raises
    ------
    AccessRuleError
        When the kernel overwrites values that its adjoint reads.
    GradientError
        When no field of the kernel has a gradient, or a NumPy array would need one.
    """
    keys = _asked(form)
    active = form.spread(keys)
    without = [form.field(key) for key in sorted(active - keys)]
    for f in without:
        if isinstance(f, Mirror):
            raise _no_gradient(form, f)
    if form.program.label_apart(active, "bar") != "bar":
        message = f"`{form.kernel.name}` uses gradients as values: `grad()` cannot run its adjoint"
        raise GradientError(Diagnostic("not-differentiable", message, help="use `ad.Tape`"))
    adjoint = form.adjoint(active, "bar")
    if adjoint.conflicts or adjoint.lost:
        raise overwrite_messages.own(adjoint.conflicts, adjoint.lost)
    warn([_counts_as_zero(form, f) for f in without])
    _clear(without)
    dispatch(adjoint.form.guarded(), values)
    _clear(without)


def _asked(form: Form) -> Keys:
    """The memories with gradients that the user requested."""
    keys = frozenset(key for key, f in form.floats if f.needs_grad)
    if not keys:
        message = f"no field of `{form.kernel.name}` has a gradient"
        advice = "declare fields with `needs_grad=True`"
        raise GradientError(Diagnostic("missing-gradient", message, help=advice))
    return keys


def _clear(fields: list[Field]) -> None:
    """Clears gradients that the user cannot read."""
    for f in fields:
        bar = f.scratch((*f.derivative, *BAR))
        if bar.touched:
            dispatch(host_kernels.form(host_kernels.Fill, bar), (0.0,) * bar.numbers)
            bar.touched = False


def _without(form: Form, f: Field) -> str:
    return f"`{form.kernel.name}` writes {f.quoted} from values with gradients, but it has none itself"


def _no_gradient(form: Form, f: Field) -> GradientError:
    advice = "a NumPy array has no gradient: pass an `ndarray` with `needs_grad=True`"
    return GradientError(Diagnostic("missing-gradient", _without(form, f), help=advice))


def _counts_as_zero(form: Form, f: Field) -> Diagnostic:
    message = f"{_without(form, f)}: it counts as 0"
    advice = f"declare `{f.name}` with `needs_grad=True` if the loss depends on it"
    return Diagnostic("cut", message, form.kernel.origin.span, "defined here", help=advice)
