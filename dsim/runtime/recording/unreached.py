"""Explains why a gradient or a tangent is zero: no path of derivatives connects the two fields.

Derivatives are followed from the field through the kernels that were launched: it was never read, or used
for nothing that the loss depends on, or the way was cut. When this is asked is `zeros.py`'s.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from dsim.analysis.activity import Activity, of_kernel
from dsim.diagnostics import Diagnostic, Span
from dsim.diagnostics.places import caller
from dsim.ir.nodes import Accumulate, Let, Load, Store
from dsim.ir.primitive import Ends
from dsim.ir.primitives import TABLE
from dsim.ir.walk import accesses, statements
from dsim.runtime.fields.fields import Field
from dsim.runtime.launching.forms import Form
from dsim.runtime.state.notices import warn

TAPE, FORWARD, RUN = "the tape", "the forward mode", "the run"
_WITH = (TAPE, FORWARD)  # whose blocks are a person's

_OTHERS = Ends("without a derivative from here on", "")


class Unreached:
    """The calls of a context, kept to explain why no path leads from a field to its goal.

    Parameters
    ----------
    goal : Field
        The loss.
    forms : iterable of Form
        What was recorded, in order.
    read : iterable of Field
        Fields that were read into Python.
    block : str
        What the calls were inside, in words: `TAPE`, `FORWARD`, `RUN`, or what else has run.
    """

    def __init__(self, goal: Field, forms: Iterable[Form], read: Iterable[Field], block: str) -> None:
        self._goal = goal
        self._forms = tuple(dict.fromkeys(forms))
        self._read = frozenset(read)
        self._block = block

    def gradient(self, field: Field) -> None:
        """Warns that the gradient of `field`, which no adjoint touched, is zero, and why."""
        self._tell(f"the gradient of {field.quoted} is 0", field)

    def overwritten(self, field: Field) -> None:
        """Warns that the gradient of `field` is zero because it was overwritten."""
        message = f"the calls inside {self._block} overwrite {field.quoted} before they read it"
        warn([_why(f"the gradient of {field.quoted} is 0: {message}", self._on_entry(), caller())])

    def tangent(self, source: Field) -> None:
        """Warns that the tangent of the goal along `source` is zero, and why."""
        what = f"the tangent of {self._goal.quoted} along {source.quoted} is 0"
        if any(self._goal in f.written for f in self._forms):
            self._tell(what, source)
        else:
            where = "inside the `with` block" if self._block in _WITH else f"in {self._block}"
            advice = f"launch the kernel that computes it {where}"
            warn([_why(f"{what}: no call inside {self._block} writes it", advice, caller())])

    def _tell(self, what: str, field: Field) -> None:
        d = self._reason(field)
        warn([Diagnostic("unreached", f"{what}: {d.message}", d.span or caller(), d.here, (), d.help)])

    def _reason(self, field: Field) -> Diagnostic:
        followed = self._followed({field})
        cut = next((f for f in followed if f in self._read), None)
        if cut is not None:
            depends = "" if cut is field else f", which depends on {field.quoted},"
            return _why(
                f"{cut.quoted}{depends} was read into Python", "use the field inside a kernel instead"
            )
        if not any(field in _loaded(f) for f in self._forms):
            return self._unread(field)
        return self._ended(followed) or self._returned(field, followed) or self._unused(field, followed)

    def _unread(self, field: Field) -> Diagnostic:
        if any(field in f.written for f in self._forms):
            message = f"the calls inside {self._block} write {field.quoted} and never read it"
            return _why(message, self._on_entry())
        message = f"no call inside {self._block} reads {field.quoted}"
        if self._block in _WITH:
            return _why(message, "launch the kernel that uses it inside the `with` block")
        if self._block == RUN:
            return _why(message, "launch the kernel that uses it in the run")
        advice = "its run has set all gradients to 0: look at this one before, or compute it again"
        return _why(message, advice)

    def _on_entry(self) -> str:
        return f"{self._block} differentiates with respect to the values that fields have on entry"

    def _ended(self, followed: Iterable[Field]) -> Diagnostic | None:
        to_goal = leading(self._goal, self._forms)
        for form in self._forms:
            if not to_goal.isdisjoint(form.written):
                for s in _ends(form, followed):
                    ends = TABLE[s.op].ends or _OTHERS
                    message = f"the path to {self._goal.quoted} ends here"
                    return Diagnostic("unreached", message, s.origin.span, ends.why, (), ends.advice)
        return None

    def _returned(self, field: Field, followed: Iterable[Field]) -> Diagnostic | None:
        for form in self._forms:
            if any(map(_activity(form, followed).varies, form.kernel.body.yields)):
                message = f"`{form.kernel.name}` returns a value that depends on {field.quoted} to Python"
                return _why(message, "write the value to a 0-D field inside the kernel")
        return None

    def _unused(self, field: Field, followed: dict[Field, None]) -> Diagnostic:
        made = [f for f in followed if f is not field and not any(f in _loaded(form) for form in self._forms)]
        if not made:
            return _why(f"no value computed from {field.quoted} reaches {self._goal.quoted}", "")
        what, pronoun = ", ".join(f.quoted for f in made), "it" if len(made) == 1 else "them"
        message = f"{field.quoted} only affects {what}, and no call inside {self._block} reads {pronoun}"
        where = "inside the `with` block" if self._block in _WITH else f"in {self._block}"
        return _why(message, f"launch the kernel that uses {pronoun} {where}")

    def _followed(self, sources: Iterable[Field]) -> dict[Field, None]:
        """The fields that derivatives lead to from `sources`, these first."""
        found = dict.fromkeys(sources)
        before = -1
        while before != len(found):
            before = len(found)
            for form in self._forms:
                found.update(dict.fromkeys(_outputs(form, found)))
        return found


def leading(goal: Field, forms: Iterable[Form]) -> set[Field]:
    """`goal`, and the fields whose values it may depend on in any way after `forms` ran."""
    known = tuple(forms)
    found, before = {goal}, -1
    while before != len(found):
        before = len(found)
        for form in known:
            if not found.isdisjoint(form.written):
                found.update(_loaded(form))
    return found


def _why(message: str, advice: str, span: Span | None = None) -> Diagnostic:
    return Diagnostic("unreached", message, span, help=advice)


def _loaded(form: Form) -> set[Field]:
    """The fields whose values `form` reads."""
    return {
        form.field(s.memory.key)
        for s in accesses(form.kernel.body)
        if not s.memory.private and (isinstance(s, Load) or (isinstance(s, Accumulate) and s.old is not None))
    }


def _activity(form: Form, sources: Iterable[Field]) -> Activity:
    known = set(sources)
    return of_kernel(form.kernel, [key for key, f in form.floats if f in known])


def _outputs(form: Form, sources: Iterable[Field]) -> Iterator[Field]:
    """The fields into which `form` writes values that vary with those of `sources`."""
    activity = _activity(form, sources)
    for s in accesses(form.kernel.body):
        if isinstance(s, Store | Accumulate) and not s.memory.private and activity.varies(s.value):
            yield form.field(s.memory.key)


def _ends(form: Form, sources: Iterable[Field]) -> Iterator[Let]:
    """The expressions of `form` at which the dependence on `sources` ends."""
    activity = _activity(form, sources)
    for s in statements(form.kernel.body):
        if isinstance(s, Let) and not activity.varies(s.var) and any(map(activity.varies, s.args)):
            yield s
