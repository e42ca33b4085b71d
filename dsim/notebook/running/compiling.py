"""Compiles the kernel of a report at its cell and, if requested, its adjoint."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dsim.runtime.fields.fields import Field
from dsim.runtime.launching.forms import AdjointForm, Form


def machine_code(form: Form, loss: Field | None) -> None:
    """Compiles `form`, and for a tape with `loss` what goes backwards."""
    if loss is None:
        form.compile()
        return
    for made in _recorded(form, {f for _, f in form.floats if f.needs_grad}):
        made.compile()


def _recorded(form: Form, active: set[Field]) -> Iterator[Form]:
    """What a tape launches for `form`, forwards and backwards, where the fields `active` carry adjoints."""
    known = form.recording(tuple(f in active for _, f in form.floats))
    active |= set(known.reached)
    plan: Any = known.saving
    if plan is None:
        yield form
    elif isinstance(plan, AdjointForm):
        yield from (plan.launched, plan.form)
    else:
        for part in plan:
            yield from _recorded(part, active)
