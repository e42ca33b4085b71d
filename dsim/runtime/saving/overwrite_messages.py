"""Messages about overwritten values that a gradient needs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from dsim.analysis.access_rules import Overwrite, of_values_still_there
from dsim.autodiff import Lost
from dsim.diagnostics import AccessRuleError, Diagnostic, GradientError, Label, Span
from dsim.diagnostics.places import caller
from dsim.ir.nodes import Accumulate, Load, Statement, Store
from dsim.ir.show import ACCUMULATE_SIGNS
from dsim.runtime.fields.fields import Field
from dsim.runtime.launching.forms import Form
from dsim.runtime.launching.interval_sets import Box, element
from dsim.runtime.launching.needs import NeededRegion
from dsim.runtime.saving.snapshots import Report, Row, SavedRegion

_WORDS = {"bar": "grad", "dot": "dual"}


def own(conflicts: Iterable[Overwrite], lost: Iterable[Lost]) -> AccessRuleError:
    """A kernel overwrites what its own adjoint reads."""
    return AccessRuleError(*own_diagnostics(conflicts, lost))


def interleaved(form: Form) -> GradientError:
    """Something was launched before the record of a launch was whole."""
    if form.runs_python:
        message = f"`{form.kernel.name}` launches a kernel, or writes to a field: an operation computes only"
        advice = "pass what it reads as an input, and write with `out=`"
        return GradientError(Diagnostic("not-differentiable", message, caller(), help=advice))
    message = f"a signal handler or a finalizer launched a kernel while `{form.kernel.name}` was recorded"
    advice = "launch it after the `with` block: the order of the two launches is undefined"
    return GradientError(Diagnostic("not-differentiable", message, caller(), help=advice))


def own_diagnostics(
    conflicts: Iterable[Overwrite], lost: Iterable[Lost], saved: bool = False
) -> list[Diagnostic]:
    """The diagnostics of a kernel that overwrites what its own adjoint reads.

    With `saved` it is a note: a tape saves these values. A write that only comes after another one that has
    overwritten the value is not told.
    """
    gone = [item.by for item in lost]  # one message for these, not two
    told = of_values_still_there(tuple(conflicts))
    others = [c for c in told if not any(c.write.site == by.site for by in gone)]
    found = [_own(c.read.statement, c.write.statement, c.certain, saved) for c in others]
    return list(dict.fromkeys(found + [_lost(by, saved) for by in gone]))


_SAVED = 'a tape saves the old value here; with `on_overwrite="error"` it refuses the kernel'


def _own(read: Statement, write: Statement, certain: bool, saved: bool) -> Diagnostic:
    name, sure = _named(read), "" if certain else "may be "
    used = "its final value is used" if isinstance(read, Accumulate) else "read here"
    return Diagnostic(
        "overwrites" if saved else "overwritten",
        f"`{name}` {sure or 'is '}overwritten after it was read",
        write.origin.span,
        f"{sure}overwritten here; the backward pass needs the old value",
        _labels(read.origin.span, write.origin.span, used),
        _SAVED if saved else _advice(read, write),
    )


def _advice(read: Statement, write: Statement) -> str:
    if isinstance(read, Load) and isinstance(write, Store) and read.origin.span == write.origin.span:
        return "in place, only `+=` is reversible: compute in a local variable, and store it once"
    return "write to a second field, or to another element in each step"


def _labels(read: Span | None, write: Span | None, text: str) -> tuple[Label, ...]:
    return () if read is None or read == write else (Label(read, text),)


def _lost(by: Accumulate, saved: bool) -> Diagnostic:
    message = f"the backward pass needs the value of `{_named(by)}` before each `{ACCUMULATE_SIGNS[by.op]}`"
    if saved:
        return Diagnostic("overwrites", message, by.origin.span, "overwritten here", help=_SAVED)
    message += ", which is gone"
    advice = "do not use the returned value, or compute it from values that are not overwritten"
    if by.old is None:
        advice = "multiply into a local variable, and write that to the field once"
    return Diagnostic("overwritten", message, by.origin.span, "overwritten here", help=advice)


def in_series(ordered: Iterable[Accumulate]) -> list[Diagnostic]:
    """A kernel runs serially because its adjoint needs the old values at these accumulations."""
    return list(dict.fromkeys(map(_in_series, ordered)))


def _in_series(by: Accumulate) -> Diagnostic:
    return Diagnostic(
        "serial",
        "inside a tape this loop runs serially: the backward pass repeats this atomic, in the same order",
        by.origin.span,
        f"the value of `{_named(by)}` before it is used",
        help="compute the index from the loop's index, so that iterations are independent",
    )


def _named(s: Statement) -> str:
    """The element as the user wrote it where that is known, else the field's name."""
    assert isinstance(s, Load | Store | Accumulate)
    span, name = s.origin.span, ".".join((s.memory.name, *(_WORDS.get(d, d) for d in s.memory.derivative)))
    if span is None or span.line != span.end_line:
        return name
    found = re.search(rf"(?<![\w.]){re.escape(name)}\[", span.text)
    return name if found is None else span.text[found.start() :][: _closing(span.text[found.start() :])]


def _closing(text: str) -> int:
    depth = 0
    for at, c in enumerate(text):
        depth += (c == "[") - (c == "]")
        if c == "]" and depth == 0:
            return at + 1
    return len(text)


def across(
    form: Form, args: tuple[Any, ...], field: Field, held: NeededRegion, shared: Box, where: Span | None
) -> AccessRuleError:
    """A launch of `form` overwrites what the adjoint of an earlier call reads.

    Parameters
    ----------
    form, args
        What is about to be launched.
    field, held, shared
        What both touch, and the earlier calls that read it.
    where : Span or None
        The line of Python that is running.
    """
    reader, read = _reader(field, held.calls, shared)
    write = form.writes.access(args, field, shared)
    at = None if write is None else write.origin.span
    what = element(field.name, shared, len(field.entry_shape))
    by = "from Python" if at is None else f"by `{form.kernel.name}`"
    labels = _labels(None if read is None else read.origin.span, None, f"read here, in `{reader.name}`")
    return AccessRuleError(
        Diagnostic(
            "overwritten",
            f"`{what}` is overwritten {by} after `{reader.name}` read it",
            at or where,
            "overwritten here; the backward pass needs the old value",
            labels,
            "write to a second field, or add an axis for the step to the field",
        )
    )


def _reader(field: Field, calls: Sequence[Any], shared: Box) -> tuple[Any, Statement | None]:
    for call in calls:
        read = call.reads(field, shared)
        if read is not None:
            return call, read
    return calls[0], None


def saved(everything: Iterable[SavedRegion], loops: Iterable[Row]) -> Report:
    """What was saved, rows of equal field, writer and reader put together; then those of `loops`."""
    rows: dict[tuple[Field, str, str], list[int]] = {}
    for s in everything:
        reader, read = _reader(s.field, s.readers, s.box)
        write = s.writer.form.writes.access(s.writer.args, s.field, s.box)
        by = _place(s.writer.line or (write and write.origin.span), s.writer.form.kernel.name)
        row = rows.setdefault((s.field, by, _place(read and read.origin.span, reader.name)), [0, 0])
        row[0] += s.bytes
        row[1] += 1
    single = [Row(f.name, size, times, by, read) for (f, by, read), (size, times) in rows.items()]
    return Report([*single, *loops])


def _place(span: Span | None, name: str) -> str:
    """A line as a report shows it."""
    return f"`{name}`" if span is None else f"line {span.line}: {span.source.line(span.line).strip()}"
