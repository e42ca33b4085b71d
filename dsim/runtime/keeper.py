"""Asks of every launch inside a tape whether it destroys values that an adjoint will read, and keeps them.

Whether a value reaches the loss is not known while recording: what depends on a field with a gradient is
taken to. The question costs the same however long the tape is.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from dsim.diagnostics import Diagnostic, GradientError
from dsim.diagnostics.places import caller
from dsim.runtime import told
from dsim.runtime.adjoints import AdjointForm
from dsim.runtime.fields import Field
from dsim.runtime.overlaps import Box, Held, Needs, outside
from dsim.runtime.saved import Saved, Vault, Writer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dsim.runtime.contexts import Args
    from dsim.runtime.forms import Form


@dataclass(eq=False, slots=True)
class Call:
    """A recorded launch: its adjoint and its arguments, and what was saved before it ran.

    `own` is for its own adjoint, which runs on the values from before the launch; `before` is for the
    adjoints of earlier calls. The adjoint is None where nothing varies.
    """

    form: Form
    args: Args
    adjoint: AdjointForm | None
    own: Sequence[Saved] = ()
    before: Sequence[Saved] = ()

    @property
    def name(self) -> str:
        """The kernel's name."""
        return self.form.kernel.name

    def reads(self, region: Field, box: Box) -> Any:
        """The statement because of which its adjoint needs `box` of a field."""
        return None if self.adjoint is None else self.adjoint.reads.access(self.args, region, box)


@dataclass
class Keeper:
    """What the adjoints of the calls so far will read, and what was saved of it.

    Attributes
    ----------
    vault : Vault
        Where values are saved.
    saves : bool
        Whether values are saved; otherwise a launch that would destroy them is refused.
    budget : int or None
        How many bytes may be saved.
    """

    vault: Vault
    saves: bool
    budget: int | None
    _needs: Needs = field(default_factory=Needs)

    def before(self, call: Call) -> None:
        """Saves what the launch `call`, which comes now, would destroy.

        Raises
        ------
        AccessRuleError
            When values would be destroyed and are not to be saved.
        GradientError
            When the budget is spent.
        """
        adjoint = call.adjoint
        if adjoint is not None and adjoint.entry:
            call.own = self._own(call, adjoint)
        if not self._needs.spare(call.form.written):
            call.before = self._for_others(call)

    def after(self, call: Call) -> None:
        """Notes what the adjoint of `call`, which has run, will read."""
        adjoint = call.adjoint
        if adjoint is None or not adjoint.needed:
            return
        for region, box in adjoint.reads.of(call.args):
            if call.own:
                own = [s.box for s in call.own if s.field is region]
                for part in outside([box], own):
                    self._needs.add(region, part, call)
            else:
                self._needs.add(region, box, call)

    def need(self, region: Field, box: Box, call: Any) -> None:
        """Notes that `call` will read `box` of a field when it goes backwards."""
        self._needs.add(region, box, call)

    def _own(self, call: Call, adjoint: AdjointForm) -> list[Saved]:
        found: list[Saved] = []
        for region, boxes in adjoint.replaced(call.args).items():
            for box in boxes:
                self._needs.take(region, box)  # earlier calls find it there, too
                found.append(self._save(region, box, call, (call,)))
        return found

    def _for_others(self, call: Call) -> Sequence[Saved]:
        if not self.saves:
            self._refuse(call)
            return ()
        found: list[Saved] = []
        for region, box in call.form.writes.of(call.args):
            for held, shared in self._needs.take(region, box):
                found.append(self._save(region, shared, call, held.calls))
        return found

    def _refuse(self, call: Call) -> None:
        for region, box in call.form.writes.of(call.args):
            found: tuple[Held, Box] | None = self._needs.hit(region, box)
            if found is not None:
                raise told.across(call.form, call.args, region, *found, caller())

    def _save(self, region: Field, box: Box, call: Call, readers: Sequence[Any]) -> Saved:
        line = caller() if call.form.from_python else None
        saved = self.vault.save(region, box, Writer(call.form, call.args, line), readers)
        if self.budget is not None and self.vault.bytes > self.budget:
            raise GradientError(_spent(self.vault, self.budget, saved))
        return saved


def _spent(vault: Vault, budget: int, last: Saved) -> Diagnostic:
    message = (
        f"overwritten values take {vault.bytes:,} bytes, more than the tape's budget of {budget:,}: "
        f"the last is {last.field.quoted}"
    )
    advice = "raise `budget`, or give fields that every step overwrites an axis for the step"
    return Diagnostic("memory", message, last.writer.line or caller(), "here", help=advice)
