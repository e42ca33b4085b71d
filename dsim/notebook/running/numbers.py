"""The numbers that a run of a kernel reads, and whether they were written since."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dsim.ir.nodes import Store
from dsim.notebook.running.state import arrays
from dsim.runtime.fields.fields import Field
from dsim.runtime.launching.forms import Form
from dsim.runtime.recording.write_history import since
from dsim.runtime.state.write_clock import CLOCK


class NumbersRead:
    """The numbers that a launch of `form` with `args` begins with, from now on.

    The library's clock tells of fields who wrote to them; arrays are compared with a copy.

    Parameters
    ----------
    form : Form
        What is launched.
    loss : Field or None
        Of the tape around it, which sets it to 0.
    args : sequence
        The arguments of its launch.
    """

    def __init__(self, form: Form, loss: Field | None, args: Sequence[Any]) -> None:
        self._fields = [f for f, kinds in form.touching.items() if f is not loss and kinds != {Store}]
        self._arrays = [(a, a.copy()) for a in arrays(args)]
        self._moment = CLOCK.tick()

    def written(self) -> bool:
        """Whether any was written since then, or may have been."""
        return since(self._moment, self._fields, frozenset()) is not None or any(
            a.tobytes() != then.tobytes() for a, then in self._arrays
        )
