"""Chooses what a tape saves: snapshots of what an adjoint will read and a launch would overwrite.

Whether a value reaches the loss is not known while recording: every value that depends on a field with a
gradient is assumed to. The test takes constant time however long the tape is. What a kernel overwrites in
its own loops its adjoint writes again, with an undo log: `passes.saving.placement` lists all ways.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from dsim.diagnostics import Diagnostic, GradientError
from dsim.diagnostics.places import caller
from dsim.runtime.fields.fields import Field
from dsim.runtime.launching.access_regions import Reach
from dsim.runtime.launching.forms import AdjointForm, Form
from dsim.runtime.launching.host_kernels import Stop
from dsim.runtime.launching.interval_sets import Box
from dsim.runtime.launching.needs import NeededRegion, Needs
from dsim.runtime.saving import overwrite_messages
from dsim.runtime.saving.entries import Args, RecordedLaunch
from dsim.runtime.saving.snapshots import Overwriter, SavedRegion, SnapshotStore


class RecordingPlan:
    """How a tape records launches of one form.

    Attributes
    ----------
    adjoint : AdjointForm or None
        Its adjoint; None where nothing varies, or where `parts` are recorded instead.
    parts : tuple of Form
        The forms launched instead, in order; empty when the form itself is launched.
    launched : Form
        What is launched: the form, or the one that computes what its adjoint needs, too.
    loses : AdjointForm or None
        The adjoint, if launches destroy values that it needs and that cannot be saved.
    changed : Reach
        What a launch changes: values, and inside another context their derivatives.
    in_place : bool
        Whether its own adjoint reads values again that a launch destroys.
    reads : Reach or None
        What its adjoint reads, if anything.
    overwrites : callable
        Once `bind` was called: whether a launch with these arguments may destroy values that earlier calls
        read again.
    clashes : callable
        Whether it may destroy these, or such that its own adjoint reads again.
    noted : callable
        Notes that a launch with these arguments is read again.
    """

    __slots__ = (
        *("adjoint", "changed", "clashes", "form", "in_place", "launched", "loses"),
        *("noted", "overwrites", "parts", "reads"),
    )
    overwrites: Callable[[Args], bool]
    clashes: Callable[[Args], bool]
    noted: Callable[[Args], None]

    def __init__(self, form: Form, plan: AdjointForm | tuple[Form, ...] | None, changed: Reach) -> None:
        self.form = form
        self.parts, self.adjoint = (plan, None) if isinstance(plan, tuple) else ((), plan)
        adjoint = self.adjoint
        self.launched = form if adjoint is None else adjoint.launched
        self.loses = None if adjoint is None or adjoint.keeps else adjoint
        self.in_place = adjoint is not None and bool(adjoint.entry)
        self.reads = adjoint.reads if adjoint is not None and adjoint.needed else None
        self.changed = changed

    def bind(self, needs: Needs) -> None:
        """Makes the functions of arguments, for what is read again."""
        self.overwrites = self.changed.meets(needs)
        self.clashes = _always if self.in_place else self.overwrites
        if self.reads is not None:
            self.noted = self.reads.widen(needs)


def _always(_: Args) -> bool:
    return True


class SavePolicy:
    """The regions that the adjoints of the calls so far will read, and the saved ones among them.

    A call only widens hulls; its regions are computed when a later one intersects a hull.

    Parameters
    ----------
    snapshots : SnapshotStore
        Where snapshots go.
    saves : bool
        Whether values are saved; otherwise a launch that would destroy them is refused.
    budget : int or None
        How many bytes may be saved.

    Attributes
    ----------
    noted : list of RecordedLaunch
        Calls that widened the hulls, and whose regions are not worked out yet.
    begun : bool
        Whether hulls are kept.
    """

    begun = False
    _needs: Needs  # from then on
    _first: tuple[RecordingPlan, RecordedLaunch] | None = None  # that reads anything, until then

    def __init__(self, snapshots: SnapshotStore, saves: bool, budget: int | None) -> None:
        self.snapshots = snapshots
        self.saves = saves
        self.budget = budget
        self.noted: list[RecordedLaunch] = []
        self._unbound: list[RecordingPlan] = []  # until then

    def watch(self, form: Form, plan: AdjointForm | tuple[Form, ...] | None) -> RecordingPlan:
        """The plan for launches of `form`."""
        made = RecordingPlan(form, plan, self._changed(form))
        if self.begun:
            made.bind(self._needs)
        else:
            self._unbound.append(made)
        return made

    def _changed(self, form: Form) -> Reach:
        """What a launch of `form` changes: values, and inside another context their derivatives.

        `stop_grad` of a field keeps its numbers, which the adjoints of earlier calls read with the
        derivatives from before it.
        """
        return form.stores if isinstance(form, Stop) and self.snapshots.inside else form.writes

    @property
    def reads(self) -> bool:
        """Whether the adjoint of a call so far reads anything: then hulls are kept, from here on.

        The only launch of a tape needs none.
        """
        if self._first is not None:
            self.begin()
        return self.begun

    def first(self, plan: RecordingPlan, call: RecordedLaunch) -> None:
        """Notes that the adjoint of `call` reads what `plan` says, before hulls are kept."""
        self._first = plan, call

    def begin(self) -> None:
        """Keeps hulls from here on."""
        if self.begun:
            return
        self._needs = Needs()
        for plan in self._unbound:
            plan.bind(self._needs)
        if self._first is not None:
            plan, call = self._first
            plan.noted(call.args)
            self.noted = [call]
        self.begun = True  # until here Ctrl-C may come: then all of it is done again
        self._unbound.clear()
        self._first = None

    def save(self, call: RecordedLaunch) -> None:
        """Saves the needed values that the launch `call` is about to overwrite.

        Raises
        ------
        AccessRuleError
            When values would be destroyed and are not to be saved.
        GradientError
            When the budget is spent.
        """
        self._work_out()
        if call.adjoint is not None and call.adjoint.entry:
            call.own = self._own(call, call.adjoint)
        call.before = self._for_others(call)

    @property
    def spent(self) -> bool:
        """Whether a quarter of the budget is spent: the rest is for states, from which calls run again."""
        return self.budget is not None and 4 * self.snapshots.bytes > self.budget

    def need(self, call: Any) -> None:
        """Notes that `call`, of a user's function, will read what it touched when it goes backwards."""
        self._work_out()
        for region, box in call.regions(self.saves):
            self._needs.add(region, box, call)

    def needs(self, fields: Iterable[Field]) -> bool:
        """Whether adjoints of the calls so far may read anything of these fields."""
        self.begin()
        return any(self._needs.hull(f)[0] for f in fields)

    def note_all(self, calls: Iterable[RecordedLaunch], hulls: Needs) -> None:
        """Notes that the adjoints of `calls` read what lies in `hulls`."""
        self.begin()
        self.noted += calls
        self._needs.widen(hulls)

    def forget(self) -> None:
        """Forgets all needs: the adjoints of all calls have run, or what they read has been saved."""
        self.begin()
        self.noted.clear()
        self._needs.clear()

    def _work_out(self) -> None:
        self.begin()
        for call in self.noted:
            assert call.adjoint is not None
            for region, box in call.adjoint.own.left(call.args):
                self._needs.add(region, box, call)
        self.noted.clear()

    def _own(self, call: RecordedLaunch, adjoint: AdjointForm) -> list[SavedRegion]:
        found: list[SavedRegion] = []
        reader = RecordedLaunch(call.form, call.args, adjoint)  # the call itself would be a reference cycle
        for region, boxes in adjoint.own.replaced(call.args).items():
            for box in boxes:
                self._needs.take(region, box)  # earlier calls find it there, too
                found.append(self._save(region, box, call, (reader,)))
        return found

    def _for_others(self, call: RecordedLaunch) -> Sequence[SavedRegion]:
        if not self.saves:
            self._refuse(call)
            return ()
        found: list[SavedRegion] = []
        for region, box in self._changed(call.form).of(call.args):
            for held, shared in self._needs.take(region, box):
                found.append(self._save(region, shared, call, held.calls))
        return found

    def _refuse(self, call: RecordedLaunch) -> None:
        for region, box in self._changed(call.form).of(call.args):
            found: tuple[NeededRegion, Box] | None = self._needs.hit(region, box)
            if found is not None:
                raise overwrite_messages.across(call.form, call.args, region, *found, caller())

    def _save(self, region: Field, box: Box, call: RecordedLaunch, readers: Sequence[Any]) -> SavedRegion:
        line = caller() if call.form.from_python else None
        saved = self.snapshots.save(region, box, Overwriter(call.form, call.args, line), readers)
        if self.budget is not None and self.snapshots.bytes > self.budget:
            raise GradientError(_spent(self.snapshots, self.budget, saved))
        return saved


def _spent(snapshots: SnapshotStore, budget: int, last: SavedRegion) -> Diagnostic:
    message = (
        f"overwritten values take {snapshots.bytes:,} bytes, more than the tape's budget of {budget:,}: "
        f"the last is {last.field.quoted}"
    )
    advice = "raise `budget`, or add an axis for the step to fields that every step overwrites"
    return Diagnostic("memory", message, last.writer.line or caller(), "here", help=advice)
