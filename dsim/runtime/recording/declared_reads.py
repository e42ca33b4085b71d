"""Checks what a backward function reads that names the fields whose values it needs.

A tape saves only what was named. So once a function with such a backward pass was called, the tape notes
every launch, by the fields that it writes; and while the backward pass runs, a context watches what it reads.
"""

from __future__ import annotations

import bisect
from collections.abc import Iterator, Sequence
from threading import get_ident

from dsim.diagnostics import AccessRuleError, Diagnostic, Label
from dsim.diagnostics.places import caller
from dsim.ir.nodes import Accumulate, Load, Store
from dsim.ir.walk import accesses
from dsim.runtime.fields.fields import Field
from dsim.runtime.launching.access_regions import whole
from dsim.runtime.launching.contexts import Args, Context
from dsim.runtime.launching.forms import Form
from dsim.runtime.launching.interval_sets import Box, element, meet, outside
from dsim.runtime.saving.entries import Custom, RecordedLaunch


class WriteLog:
    """The launches of a tape since the first call that named what it reads."""

    def __init__(self) -> None:
        self._launches: dict[Field, tuple[list[int], list[RecordedLaunch]]] = {}
        self._count = 0
        self._ends: dict[Custom, int] = {}

    def clear(self) -> None:
        """What was noted is undone."""
        self._launches.clear()
        self._ends.clear()

    def ends(self, call: Custom) -> None:
        """Notes that `call` ends here."""
        self._ends[call] = self._count

    def watches(self, call: Custom) -> bool:
        """Whether what the backward pass of `call` reads can be compared."""
        return call in self._ends

    def before(self, call: RecordedLaunch) -> None:
        """A launch begins."""

    def after(self, call: RecordedLaunch) -> None:
        """It is over."""
        self._count += 1
        for f in call.form.written:
            if not f.derivative:
                numbers, calls = self._launches.setdefault(f, ([], []))
                numbers.append(self._count)
                calls.append(call)

    def overwriting(self, call: Custom, field: Field, box: Box) -> RecordedLaunch | None:
        """The launch after `call` that wrote to `box` of `field`, where no saved value is put back."""
        numbers, calls = self._launches.get(field, ([], []))
        pending = [box]
        for later in calls[bisect.bisect_right(numbers, self._ends[call]) :]:
            hit = [box for f, box in later.form.writes.of(later.args) if f is field]
            shared = [s for h in hit for p in pending if (s := meet(h, p)) is not None]
            if shared:
                if outside(shared, [s.box for s in (*later.own, *later.before) if s.field is field]):
                    return later
                pending = outside(pending, hit)
        return None


class DeclaredReads(Context):
    """Watches what the backward pass of `call` reads: every launch inside, and every read from Python."""

    def __init__(self, call: Custom, logs: Sequence[WriteLog]) -> None:
        super().__init__()
        self._call = call
        self._logs = logs
        self._own: dict[Field, list[Box]] = {}  # what the backward pass itself wrote

    def launch(self, form: Form, args: Args) -> Args:
        """Compares the launch, and passes it on."""
        if get_ident() != self._thread:
            return self.elsewhere(form, args)
        for field, box in _read(form, args):
            for part in outside([box], self._own.get(field, ())):
                self._compare(form, args, field, part)
        result = self.pass_on(form, args)
        for field, box in form.stores.of(args):
            self._own.setdefault(field, []).append(box)
        return result

    def element_read(self, field: Field) -> None:
        """Compares a read from Python, of which only the field is known."""
        if not (field.derivative or self._call.keeps(field)):
            for part in outside([whole(field)], self._own.get(field, ())):
                later = self._overwriting(field, part)
                if later is not None:
                    raise _overwritten(self._call, field, part, later, None)
        super().element_read(field)

    def _overwriting(self, field: Field, box: Box) -> RecordedLaunch | None:
        found = (log.overwriting(self._call, field, box) for log in self._logs)
        return next((later for later in found if later is not None), None)

    def _compare(self, form: Form, args: Args, field: Field, box: Box) -> None:
        later = self._overwriting(field, box)
        if later is not None:
            read = form.loads.access(args, field, box) or form.writes.access(args, field, box)
            raise _overwritten(self._call, field, box, later, read)


def _read(form: Form, args: Args) -> Iterator[tuple[Field, Box]]:
    """The values that a launch depends on: what it reads, and what it adds to.

    Without those that it stores to first, as far as these are the elements that it stores to.
    """
    sums = (r for r in form.writes.of(args) if Accumulate in form.touching[r[0]])
    stored = list(form.stores.of(args))
    for field, box in (*form.loads.of(args), *sums):
        if not field.derivative:
            first = _first(form, field) is Store
            for part in outside([box], [b for f, b in stored if first and f is field]):
                yield field, part


def _first(form: Form, field: Field) -> type:
    """The kind of the first access to `field`."""
    found = (s for s in accesses(form.kernel.body) if not s.memory.private)
    return next(type(s) for s in found if form.field(s.memory.key) is field)


def _overwritten(
    call: Custom, field: Field, box: Box, later: RecordedLaunch, read: Load | Store | Accumulate | None
) -> AccessRuleError:
    what = element(field.name, box, len(field.entry_shape))
    where = f"the backward function of `{call.name}`"
    if call.keeps(field):
        message = f"{where} reads `{what}`, which `{call.name}` did not use"
        advice = f"read it in `{call.name}` too: `reads=` keeps what that function used of a field"
    else:
        message = f"{where} reads `{what}`, which `reads=` does not name"
        advice = f"name {field.quoted} in `reads=`"
    write = later.form.writes.access(later.args, field, box)
    by = "Python" if later.form.from_python else f"`{later.name}`"
    message += f", and {by} has overwritten it since"
    labels = tuple(
        Label(s.origin.span, text)
        for s, text in ((read, "read here"), (write, "overwritten here"))
        if s is not None and s.origin.span is not None
    )
    return AccessRuleError(Diagnostic("overwritten", message, caller(), "in this call", labels, advice))
