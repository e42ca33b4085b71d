"""What launches overwrite, with the values from before."""

from __future__ import annotations

from threading import get_ident

import numpy as np

from dsim.runtime.fields.fields import Field
from dsim.runtime.launching.contexts import Args, Context
from dsim.runtime.launching.forms import Form


class OverwrittenValues(Context):
    """Passes launches on, and keeps the values that they overwrite.

    Attributes
    ----------
    entry : dict of Field to ndarray
        What was written, with its values before.
    changed : dict of Field to int
        When Python had last written to them before, on the clock of write_history.py.
    """

    def __init__(self) -> None:
        super().__init__()
        self.entry: dict[Field, np.ndarray] = {}
        self.changed: dict[Field, int] = {}

    def launch(self, form: Form, args: Args) -> Args:
        """Keeps what it writes, and passes it on."""
        if get_ident() != self._thread:
            return self.elsewhere(form, args)
        for field in form.written:
            self.keep(field)
        return self.pass_on(form, args)

    def keep(self, field: Field) -> None:
        """Saves the values of `field`, which is about to change, if they are not saved already."""
        if field not in self.entry:
            self.entry[field] = field.scratch(field.derivative).require_memory().copy()
            self.changed[field] = field.changed
