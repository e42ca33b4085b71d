"""A view in the output of a cell: it gets another picture, or a page of frames, when a cell has ended."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from IPython.core.getipython import get_ipython
from IPython.display import DisplayHandle

from dsim.live.scene.numbers import refused

PAGES_VARIABLE = "DSIM_PAGES"
PLAYER = {"dsim": "player"}  # metadata of an output that embeds frames

MimeBundle = tuple[dict[str, Any], dict[str, Any]]  # data and metadata, by type


def page_budget() -> int | None:
    """How many bytes of frames an output embeds, so that it plays without a kernel; None when it does not.

    Raises
    ------
    DsimError
        When the environment variable ``DSIM_PAGES`` is no number of bytes.
    """
    given = os.environ.get(PAGES_VARIABLE, "")
    if not given:
        return None
    if not given.isdecimal() or not int(given):
        raise refused(f"{PAGES_VARIABLE} is a number of bytes, not {given!r}", f"{PAGES_VARIABLE}=5000000")
    return int(given)


class ShownView:
    """The output of one view.

    Parameters
    ----------
    first : callable
        Makes the output that is shown at once.
    """

    def __init__(self, first: Callable[[], MimeBundle]) -> None:
        self._first = first
        self._last: Callable[[], MimeBundle] | None = None
        self._handle: DisplayHandle | None = None

    def renew(self, last: Callable[[], MimeBundle]) -> None:
        """Shows the view if it is not shown yet; `last` makes its output when the running cell has ended."""
        if self._handle is None:
            data, metadata = self._first()
            self._handle = DisplayHandle()
            self._handle.display(data, raw=True, metadata=metadata)
        if self._last is None:
            shell: Any = get_ipython()
            shell.events.register("post_run_cell", self._ended)
        self._last = last

    def _ended(self, *_: object) -> None:
        assert self._handle is not None
        shell: Any = get_ipython()
        shell.events.unregister("post_run_cell", self._ended)
        last, self._last = self._last, None
        if last is not None:
            data, metadata = last()
            self._handle.update(data, raw=True, metadata=metadata)
