"""The words for derivatives that end in Python, which no tape and no forward mode sees."""

from __future__ import annotations

from dsim.diagnostics import Diagnostic
from dsim.diagnostics.places import caller
from dsim.runtime.fields import Field
from dsim.runtime.forms import Form
from dsim.runtime.mirrors import Mirror


def read(field: Field, block: str, what: str) -> Diagnostic:
    """A number of `field` is read into Python inside `block`: its `what` (gradient, tangent) ends."""
    if isinstance(field, Mirror):
        message = (
            f"{field.quoted} is a NumPy array: what Python makes of what is written to it inside the {block} "
            f"has no {what}"
        )
        return Diagnostic("cut", message, caller(), "written here", help="pass an `ndarray` instead")
    message = f"{field.quoted} is read into Python inside the {block}: its {what} is cut there"
    return Diagnostic("cut", message, caller(), "read here", help="use the field inside a kernel instead")


def returned(form: Form, what: str) -> Diagnostic:
    """A kernel returns a value that has a `what`."""
    message = f"`{form.kernel.name}` returns a value that depends on fields: its {what} is cut in Python"
    advice = "write the value to a 0-D field inside the kernel"
    return Diagnostic("cut", message, form.kernel.origin.span, "defined here", help=advice)
