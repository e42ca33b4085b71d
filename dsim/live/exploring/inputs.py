"""What the runs of an explorer begin with, and whether an optimisation in a thread uses it."""

from __future__ import annotations

import numpy as np

from dsim.live.exploring.controls import ExploreControl
from dsim.live.exploring.initial_state import InitialState
from dsim.live.workers import work_on
from dsim.runtime.fields.fields import Field


class ExplorerInputs:
    """The controls of an explorer that write to a field.

    Parameters
    ----------
    controls : list of ExploreControl
        What a person sets.
    state : InitialState
        Which knows what the last run left in the fields.
    """

    def __init__(self, controls: list[ExploreControl], state: InitialState) -> None:
        self._state = state
        self._controlled = [(c, c.field) for c in controls if c.field is not None]
        self.ran()

    def ran(self) -> None:
        """A run has begun with the present values of the controls."""
        self._settled = {c.name: c.value for c, _ in self._controlled}

    def used(self) -> str:
        """Why a run may not write what a person has set, in words; its controls then go back.

        Empty when it may.
        """
        told = ""
        for control, field in self._controlled:
            if not self._writes(control, field) or not (why := in_use(field)):
                continue
            told = told or why
            now = _number(field, control.whole)
            control.put(now if control.low <= now <= control.high else self._settled[control.name])
            self._settled[control.name] = control.value
        return told

    def _writes(self, control: ExploreControl, field: Field) -> bool:
        """Whether a run would begin with another number in `field` than it holds."""
        moved = control.value != self._settled[control.name] or self._state.renewed(field)
        return moved and not _holds(field, control.value)


def in_use(field: Field) -> str:
    """Why an explorer may not write to `field` now, in words; empty when it may."""
    work = work_on(field)
    return f"{field.quoted} is in use by {work}" if work else ""


def _number(field: Field, whole: bool) -> float:
    number = field.require_memory().reshape(())[()].item()
    return int(number) if whole else float(number)


def _holds(field: Field, value: float) -> bool:
    memory = field.require_memory()
    written = memory.copy()
    written[...] = value
    return np.array_equal(written, memory)
