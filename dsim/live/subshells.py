"""Messages of the page that arrive while a cell runs, in a thread of their own."""

from __future__ import annotations

from typing import Any


def hear_while_running(widget: Any) -> None:
    """From now on the page's messages to `widget` come through the subshell that the front end chooses.

    Else ipykernel passes them to the thread that wrote last, where they wait for the cell that runs.
    """
    comm: Any = widget.comm
    if comm is not None and hasattr(comm, "_reply_subshell_for"):
        comm._reply_subshell_for = lambda _, default: default
