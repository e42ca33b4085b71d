"""Callbacks of widgets in other threads, and reports that are computed again: never at the same time.

JupyterLab sends what a person does with widgets to a thread of the kernel, so that it is heard while a cell
runs. A report's run puts fields back as they were, and would undo what a callback writes meanwhile; and a
picture that is drawn meanwhile would show the report's numbers.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager


class Callbacks:
    """Keeps the callbacks of other threads apart from what the thread does that made this object.

    IPython calls `begins` before each execution, of a cell or a callback, and `ended` after it.
    """

    def __init__(self) -> None:
        self._home = threading.current_thread()
        self._turn = threading.Condition()
        self._computing = False
        self._under_way: set[threading.Thread] = set()

    def begins(self) -> None:
        """An execution begins: in another thread it waits for what is computed."""
        thread = threading.current_thread()
        if thread is self._home:
            return
        with self._turn:
            self._turn.wait_for(lambda: not self._computing)
            self._under_way.add(thread)

    def ended(self) -> None:
        """An execution has ended."""
        with self._turn:
            self._under_way.discard(threading.current_thread())

    @contextmanager
    def apart(self) -> Iterator[bool]:
        """Lets no callback begin inside; gives whether none is under way."""
        with self._turn:
            self._under_way = {t for t in self._under_way if t.is_alive()}
            free = not self._under_way
            self._computing = True
        try:
            yield free
        finally:
            with self._turn:
                self._computing = False
                self._turn.notify_all()
