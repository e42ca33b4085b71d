"""How a tape compiles its adjoints and touches their memory, on other threads while it records."""

from __future__ import annotations

from dsim.runtime.launching.compile_ahead import AheadCompiler
from dsim.runtime.launching.forms import Form
from dsim.runtime.saving.save_policy import RecordingPlan
from dsim.runtime.tapes.recorded_states import RecordedStates


class AheadRecorder(RecordedStates):
    """A record that goes backwards when its block ends, and compiles for that from the beginning."""

    _compiler: AheadCompiler | None = None

    def _watch(self, form: Form) -> RecordingPlan:
        plan = super()._watch(form)
        if self.outer is None and plan.adjoint is not None and not plan.adjoint.form.compiled:
            self._compiler = self._compiler or AheadCompiler()
            adjoint = plan.adjoint
            self._compiler.begin(plan.launched, adjoint.form, (f.grad for f in adjoint.targets))
        return plan  # a context outside may launch something else

    def closed(self) -> None:
        """Releases what it held while it was open and in the backward pass."""
        if self._compiler is not None:
            self._compiler.close()
            self._compiler = None
        super().closed()
