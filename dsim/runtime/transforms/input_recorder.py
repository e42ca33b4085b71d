"""The record of a run with respect to chosen fields, and its sweeps."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from dsim.runtime.checking.replays import Recorder
from dsim.runtime.fields.fields import Field
from dsim.runtime.launching.contexts import Args
from dsim.runtime.launching.forms import Form
from dsim.runtime.launching.shadow_arrays import Mirror
from dsim.runtime.recording import cut_messages
from dsim.runtime.saving.entries import Custom
from dsim.runtime.saving.save_policy import RecordingPlan
from dsim.runtime.state import interruption, turns
from dsim.runtime.state.notices import warn
from dsim.runtime.sweeping.sweep import TapeSweep
from dsim.runtime.sweeping.sweep_plan import SweepPlan
from dsim.runtime.tapes.loops import CheckpointedLoops


class InputRecorder(CheckpointedLoops):
    """A record with respect to chosen fields: all others are constant, whether they have gradients or not.

    Attributes
    ----------
    between : Recorder
        The fields by which parts of a kernel bring values to later parts, with what was in them.
    """

    block = "run"
    inputs: tuple[Field, ...] = ()
    _by_gradient = False
    _keeps_mirrors = True

    def __init__(self, outputs: tuple[Field, ...]) -> None:
        super().__init__(outputs, clears=False, saves=True, budget=None)
        self.between = Recorder()

    def _watch(self, form: Form) -> RecordingPlan:
        """How to record `form`. Other records use the fields between its parts, too."""
        plan = super()._watch(form)
        if plan.parts:
            self.keep_between({f for part in plan.parts for f in part.written}.difference(form.written))
        return plan

    def keep_between(self, fields: Iterable[Field]) -> None:
        """Saves what is in fields by which parts of a kernel bring values to later parts."""
        for f in fields:
            self.between.keep(f)

    def pass_on(self, form: Form, args: Args) -> Args:
        """The launch, on the way there or back, unless the work of this thread is to end."""
        interruption.poll()
        return super().pass_on(form, args)

    def element_read(self, field: Field) -> None:
        """Warns that a derivative is cut. Arrays are no news: their derivatives are what is asked for."""
        if not isinstance(field, Mirror):
            super().element_read(field)

    def array_changed(self, mirror: Field) -> None:
        """Warns that the derivative ends, where the numbers that Python changed depend on the inputs."""
        if self.varies(mirror):
            warn([cut_messages.changed(mirror)])
        super().array_changed(mirror)

    def array_read(self, array: np.ndarray) -> None:
        """Warns that a derivative ends, where the numbers that a field is set to depend on the inputs."""
        mirror = self.mirrors.known(array)
        if mirror is not None and self.varies(mirror):
            self.read |= {mirror}
            warn([cut_messages.set_from(mirror)])
        super().array_read(array)

    def differentiate_by(self, inputs: Sequence[Field]) -> None:
        """Chooses the fields."""
        self.inputs = tuple(inputs)
        self._active.update(inputs)

    def end(self, call: Custom, done: bool) -> bool:
        """Records `call`, if it is `done`: what it computed may vary, also where Python did it."""
        mine = super().end(call, done)
        if mine and done:
            self._active.update(f for f in call.written() if f.dtype.is_float and f.needs_grad)
            self._watched.clear()
        return mine


class InputSweep(TapeSweep):
    """A backward sweep to the inputs of a record."""

    def __init__(self, record: InputRecorder) -> None:
        super().__init__(record)
        self._inputs = record.inputs

    def _others(self) -> list[Field]:
        return [*self._inputs, *super()._others()]


class CotangentSweep(InputSweep):
    """A backward sweep from given adjoints of the outputs."""

    def __init__(self, record: InputRecorder, cotangents: Mapping[Field, np.ndarray]) -> None:
        super().__init__(record)
        self._cotangents = cotangents

    def seed(self, plan: SweepPlan) -> None:
        """Sets the adjoints of the outputs."""
        for output, values in self._cotangents.items():
            bar = plan.bars[output]
            bar.require_memory()[...] = values
            bar.touched = turns.current()
