"""Messages about derivatives that are cut: in Python, or by `bit_cast`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from dsim.diagnostics import Diagnostic
from dsim.diagnostics.places import caller
from dsim.ir.nodes import Let
from dsim.runtime.fields.fields import Field
from dsim.runtime.launching.forms import Form, Recording
from dsim.runtime.launching.shadow_arrays import Mirror
from dsim.runtime.recording.returned_values import result_used

_TRANSFORMED: ContextVar[bool] = ContextVar("dsim_transformed", default=False)


def read(field: Field, block: str, what: str) -> Diagnostic:
    """A number of `field` is read into Python inside `block`: its `what` (gradient, tangent) ends."""
    if isinstance(field, Mirror):
        message = (
            f"{field.quoted} is a NumPy array: what Python makes of what is written to it inside the {block} "
            f"has no {what}"
        )
        return Diagnostic("cut", message, caller(), "written here", help="pass an `ndarray` instead")
    if _TRANSFORMED.get():
        message = f"the result of a transform inside the {block} has no {what}: its run uses {field.quoted}"
        advice = "open a tape or a forward mode there instead: these are differentiated"
        return Diagnostic("cut", message, caller(), "called here", help=advice)
    message = f"{field.quoted} is read into Python inside the {block}: its {what} is cut there"
    return Diagnostic("cut", message, caller(), "read here", help="use the field inside a kernel instead")


@contextmanager
def transformed() -> Iterator[None]:
    """In the block, it is a transform that reads."""
    token = _TRANSFORMED.set(True)
    try:
        yield
    finally:
        _TRANSFORMED.reset(token)


def changed(mirror: Field) -> Diagnostic:
    """Python changed an array inside a run: what it wrote is constant."""
    message = f"Python changed {mirror.quoted} inside the run: the derivative of what it wrote is 0"
    advice = "change it in a kernel, or by a host operation: `ad.operation`"
    return Diagnostic("cut", message, caller(), "used here", help=advice)


def set_from(mirror: Field) -> Diagnostic:
    """Python set a field to the numbers of an array inside a run."""
    message = (
        f"Python sets a field to {mirror.quoted}, a NumPy array, inside the run: its derivative is cut there"
    )
    return Diagnostic("cut", message, caller(), "read here", help="copy it in a kernel instead")


def unread(mirror: Field) -> Diagnostic:
    """A run writes an array that only Python can have read."""
    message = (
        f"{mirror.quoted} is a NumPy array: what Python makes of what the run writes to it has no derivative"
    )
    return Diagnostic("cut", message, help="pass it to a kernel that reads it, or name it in `out=`")


def inside(form: Form, known: Recording, what: str, unused: set[Form]) -> list[Diagnostic]:
    """The places of `form` where a `what` ends; `unused` are forms whose results nobody has used yet."""
    found = returned(form, what, unused) if known.returns else []
    return found if known.bits is None else [*found, _bits(known.bits, what)]


def _bits(s: Let, what: str) -> Diagnostic:
    message = f"`bit_cast` of a number that has a {what}: the bits have none"
    advice = "compute with the number itself, or write `stop_grad` around it"
    return Diagnostic("cut", message, s.origin.span, "its derivative ends here", help=advice)


def returned(form: Form, what: str, unused: set[Form]) -> list[Diagnostic]:
    """That the `what` of a result ends in Python, if Python uses it; else the form is one of `unused`."""
    if not result_used():
        unused.add(form)
        return []
    unused.discard(form)
    return [_returned(form, what)]


def _returned(form: Form, what: str) -> Diagnostic:
    message = f"`{form.kernel.name}` returns a value that depends on fields: its {what} is cut in Python"
    advice = "write the value to a 0-D field inside the kernel"
    return Diagnostic("cut", message, form.kernel.origin.span, "defined here", help=advice)
