"""What a tape records: launches, and calls of functions whose backward pass a user wrote."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from dsim.runtime.fields.fields import Field
from dsim.runtime.launching.access_regions import whole
from dsim.runtime.launching.contexts import Context, System
from dsim.runtime.launching.forms import AdjointForm, Form
from dsim.runtime.launching.interval_sets import Box
from dsim.runtime.launching.shadow_arrays import Mirror
from dsim.runtime.saving.snapshots import SavedRegion, SavedValues

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


class LaunchObserver(Protocol):
    """What is told of every launch that is recorded."""

    def before(self, call: RecordedLaunch) -> None:
        """It is about to run."""
        ...

    def after(self, call: RecordedLaunch) -> None:
        """It ran."""
        ...


class Custom:
    """A recorded call of a function whose backward pass a user wrote.

    It finds the fields that the function used as they were at its end; if `reads` names fields, these alone,
    and NumPy's arrays.

    Parameters
    ----------
    backward : callable
        The backward pass.
    name : str
        The function's name.
    reads : frozenset of Field, optional
        The fields whose values the backward pass reads; None for all that the function used.
    tangents : frozenset of str
        The labels of the tangents that forward modes inside the tape carry through the function.

    Attributes
    ----------
    inner : list of RecordedLaunch
        With `tangents`, the launches in the function, which have adjoints: those of the tangents come from
        them.
    """

    def __init__(
        self,
        backward: Callable[[], None],
        name: str,
        reads: frozenset[Field] | None = None,
        tangents: frozenset[str] = frozenset(),
    ) -> None:
        self.backward = backward
        self.name = name
        self.reads_only = reads
        self.tangents = tangents
        self.inner: list[RecordedLaunch] = []
        self._used: dict[tuple[Form, Args], None] = {}
        self._looked_at: dict[Field, None] = {}

    def looked_at(self, field: Field) -> None:
        """Notes that Python reads `field` in the function, or may do so."""
        self._looked_at[field] = None

    def used(self, form: Form, args: Args) -> None:
        """Notes a launch inside the function."""
        self._used[form, args] = None

    def keeps(self, field: Field) -> bool:
        """Whether the backward pass finds the values of `field`, if the function used it."""
        return self.reads_only is None or field in self.reads_only or isinstance(field, Mirror)

    def regions(self, sums: bool) -> Iterator[tuple[Field, Box]]:
        """What its backward pass needs: what the launches read and stored, with `sums` accumulated to.

        Named fields that no launch touched, and those that Python reads, are needed whole.
        """
        for form, args in self._used:
            yield from (r for r in form.loads.of(args) if self.keeps(r[0]))
            yield from (r for r in (form.writes if sums else form.stores).of(args) if self.keeps(r[0]))
        touched = {f for form, _ in self._used for f in form.touching}
        named = (self.reads_only or frozenset()).difference(touched)
        for field in {**dict.fromkeys(named), **dict.fromkeys(filter(self.keeps, self._looked_at))}:
            box = whole(field)
            if all(high for _, high in box):
                yield field, box

    def needed(self) -> Iterator[Field]:
        """The fields whose values its backward pass needs."""
        yield from self.reads_only or ()
        yield from filter(self.keeps, self.fields())

    def works_with(self) -> set[Field]:
        """The fields that it touched, and those that its backward pass reads beside.

        Not the arrays that only Python had: its backward pass may sum up results in one.
        """
        looked_at = {f for f in self._looked_at if not isinstance(f, Mirror)}
        return {f for form, _ in self._used for f in form.touching} | looked_at | (self.reads_only or set())

    def values(self) -> Iterator[Field]:
        """The fields that adjoints of `inner` work with, and whose adjoints the user's function handles.

        Not those with tangents, and none of what a tape inside this one has saved.
        """
        fields = (f for e in self.inner if e.adjoint is not None for f in e.adjoint.fields)
        for f in dict.fromkeys(fields):
            if self.tangents.isdisjoint(f.derivative) and not isinstance(f.root, SavedValues):
                yield f

    def fields(self) -> Iterator[Field]:
        """The fields that it touched."""
        for form, _ in self._used:
            yield from form.touching
        yield from self._looked_at

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


class Solved(Custom):
    """A recorded solution of equations: its adjoint follows from the residual, not from how it was found.

    Parameters
    ----------
    name : str
        What the solving function is called.
    launches : sequence of (Form, tuple)
        Those of the residual: its adjoint reads what they read.
    differentiated : tuple of Field
        The unknowns, and the fields that they depend on and that vary.
    pull : callable
        Given a sweep's label and its adjoints, turns those of the unknowns into those of the others.
    """

    def __init__(
        self,
        name: str,
        launches: Sequence[tuple[Form, Args]],
        differentiated: tuple[Field, ...],
        pull: Callable[[str, Mapping[Field, Field]], None],
    ) -> None:
        super().__init__(lambda: None, name)
        self.differentiated = differentiated
        self.pull = pull
        for form, args in launches:
            self.used(form, args)

    def regions(self, sums: bool) -> Iterator[tuple[Field, Box]]:
        """What the residual reads: it writes its results anew."""
        for form, args in self._used:
            yield from form.loads.of(args)

    def needed(self) -> Iterator[Field]:
        """The fields that the residual reads."""
        for form, _ in self._used:
            yield from form.loads.fields


class Told(Custom):
    """In a log of steps: contexts around the tape were told of a solution, and are told again when it runs.

    The solver ran as a constant, so without it what runs again would have no derivatives there.

    Parameters
    ----------
    system : System
        The equations that were solved.
    """

    def __init__(self, system: System) -> None:
        super().__init__(lambda: None, system.name)
        self._system = system

    def tell(self, context: Context) -> None:
        """Tells the contexts around `context`."""
        if context.outer is not None:
            context.outer.solved(self._system)
