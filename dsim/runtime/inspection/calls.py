"""The calls of a tape, for inspection: nothing here changes a tape.

Records are made on demand; facts that calls of one kernel share are computed once.
"""

from __future__ import annotations

import bisect
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from dsim.diagnostics import BoundsError, Diagnostic, Span
from dsim.diagnostics.frames import outermost
from dsim.ir.nodes import Accumulate, Load, Store
from dsim.runtime.fields.fields import Field
from dsim.runtime.launching.forms import Form
from dsim.runtime.launching.interval_sets import number
from dsim.runtime.recording.record import Entry, TapeRecord
from dsim.runtime.saving.entries import Custom, RecordedLaunch
from dsim.runtime.saving.snapshots import SavedRegion
from dsim.runtime.saving.steps import Steps

_LONGEST = 60  # characters of arguments in short


class Facts(NamedTuple):
    """The facts that all calls of one kernel share.

    Attributes
    ----------
    name : str
        The kernel's name; of what Python does to a field, ``fill``, ``put``, ``copy``, ``permute`` or
        ``prefixsum``.
    span : Span or None
        Where it is defined, from its name to its last line; None for what has no text.
    reads, stores, accumulates : tuple of Field
        The fields that it reads, stores to, and accumulates to.
    """

    name: str
    span: Span | None
    reads: tuple[Field, ...]
    stores: tuple[Field, ...]
    accumulates: tuple[Field, ...]

    @property
    def fields(self) -> tuple[Field, ...]:
        """All of these, each once."""
        return tuple(dict.fromkeys((*self.reads, *self.stores, *self.accumulates)))


@dataclass(frozen=True, slots=True)
class RecordedCall:
    """One call that a tape recorded.

    Attributes
    ----------
    index : int
        Its place among the calls, from 0.
    kernel : str
        The kernel's name; ``fill``, ``put``, ``copy``, ``permute`` and ``prefixsum`` are what Python did to
        a field.
    span : Span or None
        Where the kernel is defined, from its name to its last line.
    reads, stores, accumulates : tuple of str
        The names of the fields that the kernel reads, stores to, and accumulates to.
    overwrites : tuple of str
        The fields of which the tape saved values before the call, because it overwrites them.
    saved_bytes : int
        The size of these values.
    arguments : str
        The numbers that it was called with, in short.
    seconds : float or None
        How long it took, with what recording it took; known under ``Tape(profile=True)``.
    backward_seconds : float or None
        How long its adjoint took; known once the tape was profiled, as the two that follow.
    gradient_norm : float or None
        The norm of the gradient with respect to what the call wrote, after the call.
    gradient_norm_before : float or None
        The norm of the gradient with respect to what the call read and wrote, before the call.
    """

    index: int
    kernel: str
    span: Span | None
    reads: tuple[str, ...]
    stores: tuple[str, ...]
    accumulates: tuple[str, ...]
    overwrites: tuple[str, ...]
    saved_bytes: int
    arguments: str
    seconds: float | None = None
    backward_seconds: float | None = None
    gradient_norm: float | None = None
    gradient_norm_before: float | None = None


class Calls(Sequence[RecordedCall]):
    """The calls of a tape, in order.

    Launches that no gradient depends on are not recorded.

    Attributes
    ----------
    starts : sequence of int
        For each call the number of its first entry of the tape, and behind that the number of entries: a
        kernel that overwrites what its own adjoint reads may be recorded in several parts.
    """

    def __init__(self, record: TapeRecord) -> None:
        self._record = record
        self._facts: dict[Any, Facts] = {}
        self.starts = record.starts or _starts(record.entries)
        if record.ended is not None:
            record.starts = self.starts

    def __len__(self) -> int:
        return len(self.starts) - 1

    @outermost
    def __getitem__(self, at: Any) -> Any:
        if isinstance(at, slice):
            return [self._made(n) for n in range(*at.indices(len(self)))]
        try:
            return self._made(range(len(self))[at])
        except IndexError:
            message = f"there is no call {at}: the tape has {len(self):,} calls, counted from 0"
            raise BoundsError(
                Diagnostic("out-of-bounds", message, help="the last one is `tape.calls[-1]`")
            ) from None

    def __iter__(self) -> Iterator[RecordedCall]:
        return map(self._made, range(len(self)))

    def __repr__(self) -> str:
        return repr(self._record)

    def entries(self, n: int) -> Sequence[Entry]:
        """What was recorded of call number `n`."""
        return self._record.entries[self.starts[n] : self.starts[n + 1]]

    def holding(self, entry: int) -> int:
        """The number of the call that has entry number `entry`."""
        return bisect.bisect_right(self.starts, entry) - 1

    def facts(self, n: int) -> Facts:
        """The facts about the kernel of call number `n`."""
        key = _key(self._record.entries[self.starts[n]])
        found = self._facts.get(key)
        if found is None:
            found = self._facts[key] = _facts(self._record.entries[self.starts[n]])
        return found

    def kinds(self) -> tuple[list[int], list[int]]:
        """For each call the number of its kind, calls of one kernel being one kind; and the first of each."""
        numbers: dict[Any, int] = {}
        first: list[int] = []
        sequence: list[int] = []
        entries = self._record.entries
        for n, start in enumerate(self.starts[:-1]):
            key = _key(entries[start])
            number = numbers.get(key)
            if number is None:
                number = numbers[key] = len(first)
                first.append(n)
            sequence.append(number)
        return sequence, first

    def saved(self, n: int) -> list[SavedRegion]:
        """What was saved before call number `n`."""
        return [s for e in self.entries(n) if isinstance(e, RecordedLaunch) for s in (*e.own, *e.before)]

    def saved_bytes(self) -> np.ndarray:
        """How many bytes were saved before each call."""
        sizes = list(map(_saved_bytes, self._record.entries))
        return (
            np.add.reduceat(np.array(sizes, np.int64), self.starts[:-1]) if sizes else np.zeros(0, np.int64)
        )

    def _made(self, n: int) -> RecordedCall:
        facts, saved = self.facts(n), self.saved(n)
        profile = self._record.profiled
        first = self._record.entries[self.starts[n]]
        return RecordedCall(
            n,
            facts.name,
            facts.span,
            names(facts.reads),
            names(facts.stores),
            names(facts.accumulates),
            names(s.field for s in saved),
            sum(map(_saved_bytes, self.entries(n))),
            _arguments(whole(first.form), first.args) if isinstance(first, RecordedLaunch) else "",
            *((None,) * 4 if profile is None else profile.of(n)),
        )


def _saved_bytes(entry: Entry) -> int:
    """The size of what was saved for a call; of steps the most at one time."""
    if isinstance(entry, Steps):
        return entry.store.most
    return sum(s.bytes for s in (*entry.own, *entry.before)) if isinstance(entry, RecordedLaunch) else 0


def _starts(entries: Sequence[Entry]) -> list[int]:
    """Where calls begin: parts of one launch are one call."""
    parts = [entry.form.part if isinstance(entry, RecordedLaunch) else None for entry in entries]
    if not any(parts):
        return [*range(len(entries) + 1)]
    starts: list[int] = []
    last: tuple[Form, int] | None = None
    for n, part in enumerate(parts):
        if begins_call(last, part):
            starts.append(n)
        last = part
    return [*starts, len(entries)]


def begins_call(last: tuple[Form, int] | None, part: tuple[Form, int] | None) -> bool:
    """Whether an entry that is this part of a launch, or a whole one, begins a call after the `last` one."""
    return part is None or last is None or part[0] is not last[0] or part[1] <= last[1]


def whole(form: Form) -> Form:
    """The launched form, of which `form` may be a part."""
    return form if form.part is None else form.part[0]


def _key(entry: Entry) -> Any:
    """The key that calls of one kernel share."""
    if isinstance(entry, RecordedLaunch):
        part = entry.form.part
        return entry.form if part is None else part[0]
    return (entry.name, *entry.fields())


def _facts(entry: Entry) -> Facts:
    if isinstance(entry, RecordedLaunch):
        return of_form(whole(entry.form))
    return _of_many(entry)


def names(fields: Any) -> tuple[str, ...]:
    """The names of fields, each once."""
    return tuple(dict.fromkeys(f.name for f in fields))


def of_form(form: Form) -> Facts:
    """The facts about a kernel."""
    if form.from_python:
        name, span = type(form).__name__.lower(), None
    else:
        name, span = form.kernel.name, _lines(form.kernel.origin.span)

    def touched(kind: type) -> tuple[Field, ...]:
        return tuple(f for f, kinds in form.touching.items() if kind in kinds)

    return Facts(name, span, touched(Load), touched(Store), touched(Accumulate))


def _of_many(entry: Custom | Steps) -> Facts:
    fields = tuple(dict.fromkeys(entry.fields()))
    written = frozenset(entry.written())
    return Facts(entry.name, None, fields, tuple(f for f in fields if f in written), ())


def _lines(name: Span | None) -> Span | None:
    """From a definition's name to the end of its text."""
    if name is None:
        return None
    last = name.source.first_line + len(name.source.lines) - 1
    return Span(name.source, name.line, name.column, last, len(name.source.line(last)))


def _arguments(form: Form, args: tuple[Any, ...]) -> str:
    if form.from_python:
        return _python(form, args)
    shown = [
        f"{p.name}={_number(a)}"
        for p, a in zip(form.kernel.params, args, strict=True)
        if not (p.name.startswith("launch") and p.type.name == "u64")  # it chooses the random numbers
    ]
    return _short(", ".join(shown))


def _python(form: Form, args: tuple[Any, ...]) -> str:
    """An operation of Python's, as its source would read."""
    field, kind = form.written[0], type(form).__name__
    if kind == "Put":
        return f"{number(field.name, args[:-1], len(field.entry_shape))} = {_number(args[-1])}"
    if kind == "Fill":
        return f"{field.name} = {_short(', '.join(map(_number, args)))}"
    return field.name


def _number(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
