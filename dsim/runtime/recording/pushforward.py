"""A forward mode whose tangents lie where no launch reads or writes: it leaves every ``.dual`` as it is."""

from __future__ import annotations

import itertools
from collections.abc import Collection

from dsim.runtime.fields.fields import Field
from dsim.runtime.fields.seeds import Direction
from dsim.runtime.recording.forward_mode import ForwardMode


class Pushforward(ForwardMode):
    """Carries tangents through launches that are known.

    Parameters
    ----------
    directions : list of (Field, ndarray)
        The fields that vary, and how.
    used : collection of Field
        What the launches read or write.
    """

    def __init__(self, directions: list[Direction], used: Collection[Field]) -> None:
        self._prepare(directions, (), clear=False)
        taken = {f.derivative[-1] for f in used if f.derivative}
        self._label = next(label for n in itertools.count(2) if (label := f"dot{n}") not in taken)

    def _begin(self) -> None:
        self._claim(self.params)
        for f, seed in zip(self.params, self._seeds, strict=True):
            self._set_to(f.scratch((*f.derivative, self._label)), seed)
        self._active.update(self.params)

    def tangent(self, field: Field) -> Field | None:
        """The tangent of a field; None where it is 0."""
        return field.companion((*field.derivative, self._label)) if field in self._active else None

    def _leave(self) -> None:
        """Nothing: `tangent` has the results."""

    def _clear_seeds(self) -> None:
        """Nothing: the tangents are nobody else's."""
