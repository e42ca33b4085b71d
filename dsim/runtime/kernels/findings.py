"""The diagnostics of a kernel before it runs: the static part of the tape's analysis."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from dsim.diagnostics import Diagnostic, GradientError, render
from dsim.runtime.fields.fields import Field
from dsim.runtime.launching.forms import Form
from dsim.runtime.saving import overwrite_messages

NOTHING_FOUND = "no access rule is broken"


class Findings(Sequence[Diagnostic]):
    """Diagnostics of one kernel, in the order in which they were found; ``print`` shows them with carets."""

    def __init__(self, found: Iterable[Diagnostic]) -> None:
        self._found = tuple(found)

    def __getitem__(self, at: Any) -> Any:
        return self._found[at]

    def __len__(self) -> int:
        return len(self._found)

    def __repr__(self) -> str:
        return render(self._found) if self._found else NOTHING_FOUND


def overwrites(form: Form) -> list[Diagnostic]:
    """The values that the adjoint of `form` needs and that `form` itself overwrites.

    The adjoint is that with respect to the fields with a gradient, or to all where none has one. That there
    is none is said of the first only.
    """
    asked = {f for _, f in form.floats if f.needs_grad}
    try:
        return list(dict.fromkeys(_overwrites(form, asked or {f for _, f in form.floats})))
    except GradientError as error:
        return list(error.diagnostics) if asked else []


def _overwrites(form: Form, active: set[Field]) -> Iterator[Diagnostic]:
    """Of `form`, where the fields `active` carry adjoints; those that it makes active join them."""
    known = form.recording(tuple(f in active for _, f in form.floats))
    active |= set(known.reached)
    if known.adjoint is None or known.adjoint.keeps:
        return
    plan = known.saving
    for part in plan if isinstance(plan, tuple) else ():
        yield from _overwrites(part, active)
    yield from overwrite_messages.own_diagnostics(known.adjoint.conflicts, known.adjoint.lost, saved=True)
    if plan is not None and not isinstance(plan, tuple):
        yield from overwrite_messages.in_series(plan.ordered)
