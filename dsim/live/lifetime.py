"""How long widgets live: ipywidgets keeps each one, with its comm, until it is closed.

Whoever shows a widget below a cell need not hold it in a variable, so the outputs own it. ipywidgets counts
them (`_view_count`); some time after the last one has gone, the widget is closed.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

_KEPT = 8  # a cell that is moved, or whose deletion is undone, shows its output again


class OutputOwned:
    """Widgets that outputs own.

    Parameters
    ----------
    kept : int
        How many live on without an output; of more, those that lost theirs first are closed.
    """

    def __init__(self, kept: int = _KEPT) -> None:
        self._kept = kept
        self._lock = threading.RLock()  # widgets close themselves where they are collected, anywhere
        self._without_output: dict[Any, Callable[[], None]] = {}

    def own(self, widget: Any, close: Callable[[], None]) -> None:
        """From now on outputs own `widget`, and `close` ends it."""
        widget._view_count = 0
        widget.observe(lambda change: self._counted(widget, change, close), "_view_count")

    def closed(self, widget: Any) -> None:
        """Somebody has closed it."""
        with self._lock:
            self._without_output.pop(widget, None)

    def _counted(self, widget: Any, change: dict[str, Any], close: Callable[[], None]) -> None:
        before, now = change["old"] or 0, change["new"] or 0
        with self._lock:
            self._without_output.pop(widget, None)
            if now <= 0 and now < before:
                self._without_output[widget] = close
            oldest = [*self._without_output][: max(0, len(self._without_output) - self._kept)]
            ended = [self._without_output.pop(each, None) for each in oldest]
        for end in ended:
            if end is not None:
                end()


# The widgets of this process, as ipywidgets keeps them for it.
outputs = OutputOwned()


def close_tree(widget: Any) -> None:
    """Closes a widget with its children, layouts and styles, which have comms of their own."""
    outputs.closed(widget)
    for child in getattr(widget, "children", ()):
        close_tree(child)
    if widget.comm is not None:
        for part in (getattr(widget, "layout", None), getattr(widget, "style", None)):
            if part is not None:
                part.close()
    widget.close()
