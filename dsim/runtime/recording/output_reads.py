"""Reads of an output by Python: harmless at the end of a block, a cut derivative when the program goes on.

``print(loss[None])`` as the last line of a tape is the usual one, and says nothing. In
``loss[None] = loss[None] / n`` the number goes back into the program, and its derivative ends on the way.
"""

from __future__ import annotations

from dsim.diagnostics import Diagnostic
from dsim.runtime.fields.fields import Field
from dsim.runtime.recording import cut_messages
from dsim.runtime.state.notices import warn


class OutputReads:
    """Holds back the warning about an output that was read, until something is launched."""

    def __init__(self) -> None:
        self._held: Diagnostic | None = None
        self._said = False

    def __bool__(self) -> bool:
        return self._held is not None

    def note(self, field: Field, block: str, what: str) -> bool:
        """Holds back the warning that `field` is read; gives whether it is the first in the block."""
        if self._held is not None or self._said:
            return False
        self._held = cut_messages.read(field, block, what)
        return True

    def tell(self) -> None:
        """Something is launched: gives the warning, if there is one."""
        held, self._held = self._held, None
        if held is not None:
            self._said = True
            warn([held])
