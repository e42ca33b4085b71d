"""What the runs of an explorer begin with, and who else uses it: cells, and optimisations in threads."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from dsim.live.exploring.controls import ExploreControl
from dsim.live.exploring.initial_state import InitialState
from dsim.runtime.fields.fields import Field
from dsim.runtime.state.workers import work_on


class ExplorerInputs:
    """The controls of an explorer that write to a field, and its `wrt`.

    A control whose field a cell has written to follows it, unless a person has moved it meanwhile.

    Parameters
    ----------
    wrt : iterable of Field
        Those that a run begins with.
    controls : list of ExploreControl
        What a person sets.
    state : InitialState
        Which knows what the last run left in the fields.
    """

    def __init__(self, wrt: Iterable[Field], controls: list[ExploreControl], state: InitialState) -> None:
        self._wrt, self._state = tuple(wrt), state
        self._advice = "move a slider" if controls else "call `update()`"
        self._controlled = [(c, c.field) for c in controls if c.field is not None]
        self.ran()

    def ran(self) -> None:
        """A run has begun with the present values of the controls."""
        self._begun = {c.name: c.value for c, _ in self._controlled}
        self._settled = dict(self._begun)  # by a run or by a cell, and not moved since

    def moved(self, name: str) -> None:
        """A person has set this control, be it to the value that it has."""
        self._settled.pop(name, None)

    def follow(self) -> None:
        """Moves controls to what cells have written to their fields."""
        for control, field in self._controlled:
            if control.value == self._settled.get(control.name):
                renewed = self._state.renewed(field)
                value = _number(field, control.whole) if renewed else self._begun[control.name]
                if control.low <= value <= control.high and control.value != value:
                    control.put(value)
                    self._settled[control.name] = value

    def told(self) -> str:
        """Why what is shown is out of date, and what to do, if others have written to the fields since."""
        controlled = {field: control for control, field in self._controlled}
        written = [f for f in dict.fromkeys((*self._wrt, *controlled)) if self._state.renewed(f)]
        if not written:
            return ""
        changes = ", ".join(self._change(f, controlled.get(f)) for f in written)
        return f"out of date: {changes}; {self._advice} to run with that"

    def _change(self, field: Field, control: ExploreControl | None) -> str:
        if control is None:
            return f"{field.quoted} has other numbers"
        now = _number(field, control.whole)
        return f"{field.quoted} is {now:.6g}, and was {self._begun[control.name]:.6g}"

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
            control.put(now if control.low <= now <= control.high else self._begun[control.name])
            self._settled[control.name] = control.value
        return told

    def _writes(self, control: ExploreControl, field: Field) -> bool:
        """Whether a run would begin with another number in `field` than it holds."""
        moved = control.value != self._settled.get(control.name) or self._state.renewed(field)
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
