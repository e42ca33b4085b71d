"""A run-time fault of a kernel: the statement, and its values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from dsim.ir.nodes import Statement

FaultKind = Literal["bounds", "assertion", "memory"]


@dataclass(eq=False)  # not frozen: Python sets an exception's traceback while it propagates
class Fault(Exception):  # noqa: N818 (it says what happened in a kernel, not in dsim)
    """The first fault in a launch.

    Attributes
    ----------
    kind : str
        ``"bounds"``: an index outside its memory; ``"assertion"``: an `assert` of the kernel;
        ``"memory"``: no room for a private buffer, or for one more value in an undo log.
    statement : Statement
        The node of the kernel that it happened at, with its origin.
    values : tuple
        Of ``"bounds"`` the indices, of ``"assertion"`` the values among the message's parts in their
        order, of ``"memory"`` the lengths of the axes, or how many values the undo log has.
    """

    kind: FaultKind
    statement: Statement
    values: tuple[Any, ...] = ()
