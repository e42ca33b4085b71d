"""Pausing and stopping from another thread, also inside a launch."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from dsim.backends.cpu.stop import stop_launch
from dsim.runtime.state.evaluations import EVALUATING
from dsim.runtime.state.interruption import polled

_AGAIN = 0.01  # seconds between two attempts to stop a launch


class EndedError(BaseException):
    """Leaves a method, and SciPy, since the optimisation is to stop. Never seen outside."""


class EnoughError(BaseException):
    """Leaves a method, since all steps are done. Never seen outside."""


class ChangedError(BaseException):
    """Leaves a method that is to begin anew: the run is another one than in its last evaluation."""


class RunControl:
    """The wishes of people, and the thread that they are for."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._pause = self._stop = self._raised = False
        self.why = ""  # it is to stop, for people
        self._thread: threading.Thread | None = None
        self._inside = False

    @property
    def stopping(self) -> bool:
        """Whether it is to stop."""
        return self._stop

    @property
    def pausing(self) -> bool:
        """Whether it is to pause."""
        return self._pause

    def here(self) -> bool:
        """Whether this is the thread that works."""
        return self._thread is threading.current_thread()

    def begin(self) -> None:
        """This thread works from now on."""
        with self._changed:
            self._thread = threading.current_thread()

    def clear(self) -> None:
        """Forgets all wishes."""
        with self._changed:
            self._pause = self._stop = self._raised = False
            self.why = ""

    def end(self) -> None:
        """The work has ended."""
        with self._changed:
            self._thread = None
            self._changed.notify_all()

    def pause(self) -> None:
        """Asks for a pause before the next evaluation."""
        with self._changed:
            self._pause = True

    def go_on(self) -> None:
        """Ends the pause."""
        with self._changed:
            self._pause = False
            self._changed.notify_all()

    def stop(self, why: str = "") -> None:
        """Asks for an end, also of the launch that is running; returns at once."""
        with self._changed:
            self._stop, self.why = True, self.why or why
            self._changed.notify_all()
            if self._thread is None or self.here():
                return
        threading.Thread(target=self._stopped, name="dsim stop optimisation", daemon=True).start()

    def _stopped(self) -> None:
        """Stops launches until the work has ended: one between two launches begins the next."""
        with self._changed:
            while self._thread is not None:
                if self._inside:
                    stop_launch(self._thread)
                self._changed.wait(_AGAIN)

    def hold(self, paused: Callable[[], None], running: Callable[[], None]) -> None:
        """Waits while there is a pause.

        Raises
        ------
        EndedError
            When it is to stop.
        """
        if self._pause and not self._stop:
            paused()
            with self._changed:
                self._changed.wait_for(lambda: self._stop or not self._pause)
            if not self._stop:
                running()
        if self._stop:
            raise EndedError

    @contextmanager
    def evaluating(self) -> Iterator[None]:
        """The block evaluates the run: launches in it end soon when they are to.

        Raises
        ------
        EndedError
            When it is to stop: what the block has computed may be half done.
        """
        try:
            with EVALUATING:
                self._raised = False
                self._inside = True
                try:
                    with polled(self._poll):
                        yield
                finally:
                    self._inside = False
        except KeyboardInterrupt:
            if not self._stop:
                raise
        if self._stop:
            raise EndedError from None

    def _poll(self) -> None:
        if self._stop and not self._raised:
            self._raised = True  # else what puts fields back would end, too
            raise KeyboardInterrupt
