"""Trajectories of a tape: the values of a field at many steps, and the adjoint of each."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from typing import Any

from dsim.diagnostics import Diagnostic, GradientError
from dsim.diagnostics.frames import outermost
from dsim.diagnostics.places import caller
from dsim.runtime.fields.fields import Field
from dsim.runtime.inspection.adjoint_trajectory import AdjointTrajectory
from dsim.runtime.inspection.revisit import check_field
from dsim.runtime.inspection.state_recorder import StateRecorder
from dsim.runtime.sweeping.sweep import Observer
from dsim.runtime.tapes.loops import CheckpointedLoops, bytes_of

_BUDGET = 1 << 30


class RecordedStates(CheckpointedLoops):
    """A tape that keeps values of fields beside what adjoints need."""

    _trajectories: tuple[StateRecorder, ...] = ()

    @outermost
    def trajectory(self, field: Field, every: int = 1, *, budget: int | str = _BUDGET) -> AdjointTrajectory:
        """From here on keeps the values of `field`; when the block ends, also the gradient by each of them.

        Parameters
        ----------
        field : Field
            As in `gradient`.
        every : int, default 1
            Counts calls as `calls` does, and each step of a loop with checkpoints: 3 keeps the values as
            they are now, after three more calls, after six, and so on.
        budget : int or str, default ``"1GiB"``
            How many bytes the values may take, and the gradients as many again. When it is spent, only every
            second state is kept from there on; the result says so.

        Returns
        -------
        AdjointTrajectory
            ``states`` and ``adjoints`` over ``steps``, and the ``norms``. A notebook draws it, ``plot()``
            draws the norms, and ``print`` tells where they grow or vanish.

        Raises
        ------
        GradientError
            Outside the block; for a field that has no gradient; at the end of the block, after the gradients
            are computed, when no call computes with the field.

        Examples
        --------
        >>> import dsim as ti
        >>> x = ti.field(ti.f64, shape=(), needs_grad=True, name="x")
        >>> y = ti.field(ti.f64, shape=(), needs_grad=True)
        >>> @ti.kernel
        ... def triple():
        ...     x[None] = 3 * x[None]
        >>> @ti.kernel
        ... def end():
        ...     y[None] = x[None]
        >>> x[None] = 1.0
        >>> with ti.ad.Tape(y) as tape:
        ...     found = tape.trajectory(x)
        ...     for _ in range(3):
        ...         triple()
        ...     end()
        >>> found.steps.tolist(), found.states.tolist(), found.adjoints.tolist()
        ([0, 1, 2, 3, 4], [1.0, 3.0, 9.0, 27.0, 27.0], [27.0, 9.0, 3.0, 1.0, 0.0])
        """
        check_field(field)
        if not self.is_open:
            message = "a trajectory keeps values while the tape records, and its block is not open"
            advice = "call `tape.trajectory(x)` inside the `with` block, before the loop"
            raise GradientError(Diagnostic("argument", message, caller(), help=advice))
        number = _index(every)
        if number < 1:
            message = f"`every` is a number of calls, at least 1, not {every!r}"
            raise GradientError(Diagnostic("argument", message, caller(), help="tape.trajectory(x, every=2)"))
        made = AdjointTrajectory(field.quoted, self.loss.quoted, tuple(field.entry_shape))
        recorder = StateRecorder(self.entries, field, number, bytes_of(budget), made, caller())
        self._trajectories = (*self._trajectories, recorder)
        self.observe((*self._observers, recorder))
        return made

    def begin_trajectories(self) -> Iterable[Observer]:
        """The observers of the backward pass, which follows."""
        for recorder in self._trajectories:
            recorder.begin()
        return self._trajectories

    def finish_trajectories(self) -> None:
        """The backward pass is over."""
        finished, self._trajectories = self._trajectories, ()
        for recorder in finished:
            recorder.finish(self)


def _index(every: Any) -> int:
    try:
        return operator.index(every)
    except TypeError:
        return 0
