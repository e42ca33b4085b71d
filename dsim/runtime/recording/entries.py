"""What a tape records: launches, and calls of functions whose backward pass a user wrote."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from dsim.runtime.fields.fields import Field
from dsim.runtime.launching.forms import AdjointForm, Form
from dsim.runtime.launching.interval_sets import Box
from dsim.runtime.recording.snapshots import SavedRegion

Args = tuple[Any, ...]


@dataclass(eq=False, slots=True)
class RecordedLaunch:
    """A recorded launch: its adjoint and its arguments, and what was saved before it ran.

    `own` is for its own adjoint, which runs on the values from before the launch; `before` is for the
    adjoints of earlier calls. The adjoint is None where nothing varies.
    """

    form: Form
    args: Args
    adjoint: AdjointForm | None
    own: Sequence[SavedRegion] = ()
    before: Sequence[SavedRegion] = ()

    @property
    def name(self) -> str:
        """The kernel's name."""
        return self.form.kernel.name

    def reads(self, region: Field, box: Box) -> Any:
        """The statement because of which its adjoint needs `box` of a field."""
        return None if self.adjoint is None else self.adjoint.reads.access(self.args, region, box)


class Custom:
    """A recorded call of a function whose backward pass a user wrote.

    It finds the fields that the function used as they were at its end.
    """

    def __init__(self, backward: Callable[[], None], name: str) -> None:
        self.backward = backward
        self.name = name
        self._used: dict[tuple[Form, Args], None] = {}

    def used(self, form: Form, args: Args) -> None:
        """Notes a launch inside the function."""
        self._used[form, args] = None

    def regions(self, sums: bool) -> Iterator[tuple[Field, Box]]:
        """What the launches read and stored, and with `sums` what they accumulated to."""
        for form, args in self._used:
            yield from form.loads.of(args)
            yield from (form.writes if sums else form.stores).of(args)

    def fields(self) -> Iterator[Field]:
        """The fields that it touched."""
        for form, _ in self._used:
            yield from form.touching

    def written(self) -> Iterator[Field]:
        """Those that it wrote."""
        for form, _ in self._used:
            yield from form.written

    def reads(self, region: Field, box: Box) -> Any:
        """The statement in the function that touches `box` of a field."""
        for form, args in self._used:
            found = form.loads.access(args, region, box) or form.writes.access(args, region, box)
            if found is not None:
                return found
        return None


Entry = RecordedLaunch | Custom
