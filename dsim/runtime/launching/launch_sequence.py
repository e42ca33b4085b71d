"""Launches that are made again and again, in one order and with the same arguments: those of a graph."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dsim.runtime.fields.fields import Field
from dsim.runtime.launching.forms import Form
from dsim.runtime.launching.native_replay import NativeReplay
from dsim.runtime.state.once import once

Args = tuple[Any, ...]


class LaunchSequence:
    """Launches in order.

    Parameters
    ----------
    launches : sequence of (Form, tuple)
        The forms, each with its arguments.

    Attributes
    ----------
    forms : tuple of Form
        The forms, each once.
    remembered : dict
        What tapes remember of their records of it.
    """

    def __init__(self, launches: Sequence[tuple[Form, Args]]) -> None:
        self.launches = launches
        self.forms = tuple(dict.fromkeys(form for form, _ in launches))
        self.remembered: dict[Any, Any] = {}

    @once
    def native(self) -> NativeReplay:
        """Runs them outside of all contexts."""
        return NativeReplay(self.launches)

    @once
    def floats(self) -> tuple[Field, ...]:
        """The fields that can carry derivatives, each once."""
        return tuple(dict.fromkeys(f for form in self.forms for _, f in form.floats))

    @once
    def written(self) -> tuple[Field, ...]:
        """The fields that they write, each once."""
        return tuple(dict.fromkeys(f for form in self.forms for f in form.writes.fields))
