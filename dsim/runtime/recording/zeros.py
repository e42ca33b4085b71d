"""When a zero gradient or tangent explains itself: once, when the user reads it.

A program may have many fields that a loss does not depend on, so a tape leaves their gradients zero
silently. It remembers which kernels it recorded, weakly, until the next tape is entered; from them
`unreached` finds the reason.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar

from dsim.diagnostics import Diagnostic
from dsim.diagnostics.places import caller
from dsim.ir.nodes import Store
from dsim.runtime.fields.fields import Field, foreign, newest
from dsim.runtime.fields.overtaken import say_written
from dsim.runtime.launching.forms import Form
from dsim.runtime.recording.unreached import FORWARD, TAPE, Unreached
from dsim.runtime.state import turns
from dsim.runtime.state.notices import warn
from dsim.runtime.state.stack import explain, opened
from dsim.weak_mappings import WeakKeys

_BLOCK: ContextVar[str] = ContextVar("dsim_block", default=TAPE)

Forms = Sequence[weakref.ref[Form]]


class _Left:
    """The data that a finished context keeps: its loss, its kernels, and the fields read into Python."""

    def __init__(self, goal: Field, forms: Forms, read: Iterable[Field], block: str) -> None:
        self._goal = weakref.ref(goal)
        self._forms = forms
        self._read = list(map(weakref.ref, read)) if read else ()
        self._block = block
        self._newest = newest()
        self._told: set[weakref.ref[Field]] = set()

    def first_look(self, field: Field) -> bool:
        """Whether `field` was there, and is looked at for the first time."""
        return field.root.number <= self._newest and weakref.ref(field) not in self._told

    def told(self, field: Field) -> None:
        """Marks `field` as explained."""
        self._told.add(weakref.ref(field))

    def forms(self) -> list[Form]:
        """The kernels, as far as they still exist."""
        return [form for ref in self._forms if (form := ref()) is not None]

    def reasons(self, field: Field) -> Unreached | None:
        """The explanation of why `field` is zero; None when too much has been freed. Called once."""
        self.told(field)
        goal, forms = self._goal(), self.forms()
        if goal is None or len(forms) != len(self._forms):
            return None
        read = [f for ref in self._read if (f := ref()) is not None]
        return Unreached(goal, forms, read, self._block)


class _Gradients(_Left):
    def __call__(self, bar: Field) -> None:
        if len(bar.derivative) != 1 or not bar.wanted or not self.first_look(bar):
            return
        if foreign(bar):
            if self._worked_with(bar.root):
                self.told(bar)
                say_written(bar)
        elif not bar.touched:
            reasons = self.reasons(bar)
            if reasons is not None:
                reasons.gradient(bar.root)
        elif bar.root is not self._goal() and self._replaced(bar.root):
            reasons = self.reasons(bar)
            if reasons is not None and not bar.require_memory().any():
                reasons.overwritten(bar.root)

    def _worked_with(self, field: Field) -> bool:
        return any(field in form.touching for form in self.forms())

    def _replaced(self, field: Field) -> bool:
        """Whether the first kernel that touches `field` stores to it, and does nothing else with it."""
        return next((f.touching[field] for f in self.forms() if field in f.touching), None) == {Store}


class _Tangents:
    def __init__(self, left: dict[Field, _Left], source: Field) -> None:
        self._left = WeakKeys(left)
        self._source = weakref.ref(source)

    def __call__(self, dual: Field) -> None:
        left, source = self._left.get(dual), self._source()
        if left is None or source is None or not left.first_look(dual):
            return
        if foreign(dual):
            left.told(dual)
            say_written(dual)
        elif not dual.touched:
            reasons = left.reasons(dual)
            if reasons is not None:
                reasons.tangent(source)

    def told(self, dual: Field) -> None:
        if left := self._left.get(dual):
            left.told(dual)


class _Cleared:
    """The gradients that were not 0 before the open tape was entered: those that were cleared in its turn."""

    def __init__(self) -> None:
        self._turn = turns.current()

    def __call__(self, bar: Field) -> None:
        if bar.cleared != self._turn or bar.touched:
            return
        bar.cleared = 0  # once
        message = f"{bar.quoted} is 0 here: the tape has set all gradients to 0 on entry"
        advice = "use it after the tape, or pass `clear_gradients=False` to keep it"
        if not opened():
            message += ", and its block ended with an error"
            advice = "run the block again, or pass `clear_gradients=False` to keep what there was"
        warn([Diagnostic("cleared", message, caller(), help=advice)])

    def told(self, bar: Field) -> None:
        """Notes nothing: what is cleared here is told once in any case."""


def forget(last: str) -> None:
    """No gradient (``bar``) or tangent (``dot``) explains itself: what is known of them is out of date."""
    explain(last, None)


@contextmanager
def inside(block: str) -> Iterator[None]:
    """Tapes that end here are called `block`: they are not a person's."""
    before = _BLOCK.set(block)
    try:
        yield
    finally:
        _BLOCK.reset(before)


def weakly(forms: Iterable[Form]) -> Forms:
    """Forms, each once, that are not kept."""
    return list(map(weakref.ref, dict.fromkeys(forms)))


def note_gradients(goal: Field, forms: Forms, read: Iterable[Field]) -> None:
    """Makes the gradients that a tape has left zero explain themselves when they are looked at."""
    explain("bar", _Gradients(goal, forms, read, _BLOCK.get()))


def note_cleared() -> None:
    """Makes gradients that a tape has set to 0 on entry say so when they are looked at in its block."""
    explain("bar", _Cleared())


def note_tangents(
    goals: Iterable[Field], source: Field, forms: Iterable[Form], read: Iterable[Field]
) -> None:
    """Makes the tangents of `goals`, which a forward mode has not touched, explain themselves."""
    known, seen = weakly(forms), tuple(read)
    left = {g.companion((*g.derivative, "dot")): _Left(g, known, seen, FORWARD) for g in goals}
    explain("dot", _Tangents(left, source))
