"""Options of a report that the kernel does not use: a loss, a field of `--wrt`.

The gradients are 0 then, which a tape tells too, in the words of a program with a `with` block.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from dsim.diagnostics import Diagnostic
from dsim.ir.nodes import Load
from dsim.notebook.report.subject import Subject
from dsim.runtime.fields.fields import Field
from dsim.runtime.launching.forms import Form


def told(
    subject: Subject,
    form: Form,
    loss: tuple[str, Field],
    wrt: Mapping[str, Field],
    heard: Iterable[Diagnostic],
) -> Iterator[Diagnostic]:
    """What a run with `loss` warned of, and which options make gradients 0."""
    name, field = loss
    kernel = form.kernel.name
    if field not in form.written:
        message = f"`{kernel}` does not write the loss `{name}`: all gradients are 0"
        advice = f"add to it in the {subject.noun}, as in `{name}[None] += …`, or name another loss"
        yield Diagnostic("cut", message, subject.option("loss", name), help=advice)
        yield from (d for d in heard if d.code not in ("cut", "unreached"))  # they follow from this
        return
    yield from heard
    for of, f in wrt.items():
        if f is not field and not reads(form, f):
            does = "writes `{}` and never reads it" if f in form.touching else "does not read `{}`"
            message = f"the gradient of `{of}` is 0: `{kernel}` {does.format(of)}"
            advice = f"read `{of}` in the {subject.noun}, or remove it from {subject.spelt('wrt')}"
            yield Diagnostic("unreached", message, subject.option("wrt", of), help=advice)


def reads(form: Form, field: Field) -> bool:
    """Whether `form` reads `field`."""
    return Load in form.touching.get(field, ())
