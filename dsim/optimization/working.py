"""Which optimisations work: one that begins over fields that another one works on ends that one first."""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from dsim.backends.locks import short_lock
from dsim.optimization.control import EndedError, RunControl
from dsim.optimization.refusal import wrong
from dsim.runtime.fields.aliases import apart
from dsim.runtime.fields.fields import Field
from dsim.runtime.state.evaluations import EVALUATING
from dsim.runtime.transforms.selection import Leaf

_LOOK = 0.05  # seconds between two looks at whether this thread's own work is to stop
_WHY = "another optimization of its fields has begun"


@dataclass(eq=False)
class Work:
    """The work of an optimisation.

    Attributes
    ----------
    of : Optimization
        Whose it is.
    leaves : sequence of Field or ndarray
        What it changes: its parameters and its loss.
    control : RunControl
        By which it is stopped.
    ended : Event
        Whether it has ended.
    """

    of: Any
    leaves: Sequence[Leaf]
    control: RunControl
    ended: threading.Event

    def __str__(self) -> str:
        return f"{self.of.method}, {self.of.done:,} of {self.of.steps:,} steps"

    def shares(self, other: Work) -> bool:
        """Whether the two change the same numbers."""
        return any(_same(a, b) for a in self.leaves for b in other.leaves)


class WorkInProcess:
    """All work that goes on or is paused, held weakly: its thread keeps it until it ends."""

    def __init__(self) -> None:
        self._lock = short_lock()
        self._works: weakref.WeakSet[Work] = weakref.WeakSet()

    def enter(self, work: Work, begin: Callable[[], None]) -> list[Work]:
        """Stops what works on the same fields in other threads; then enters `work` and calls `begin`.

        Returns
        -------
        list of Work
            What was stopped.

        Raises
        ------
        EndedError
            When the work of this thread is to stop meanwhile: what it waits for may wait for it.
        GradientError
            When this thread evaluates, for whose end the others would wait before they end.
        """
        stopped: list[Work] = []
        while True:
            with self._lock:  # of two that begin at once, one sees the other
                others = [each for each in self._works if not each.control.here() and each.shares(work)]
                if not others:
                    self._works.add(work)
                    begin()
                    return stopped
            if EVALUATING._is_owned():  # type: ignore[attr-defined]
                message = "an optimisation that is still running in another thread uses these fields"
                raise wrong(message, "stop it first, by its Stop button or its `stop()`")
            for other in others:
                other.of.stop(wait=False, why=_WHY)
            for other in others:
                self._await(other)
            stopped += others

    def _await(self, other: Work) -> None:
        while not other.ended.wait(_LOOK):
            with self._lock:
                if any(each.control.here() and each.control.stopping for each in self._works):
                    raise EndedError

    def leave(self, work: Work) -> None:
        """It has ended."""
        with self._lock:
            self._works.discard(work)

    def forget(self) -> None:
        """Nothing works: a child of `os.fork` has none of the threads."""
        self._works = weakref.WeakSet()


def told(stopped: Iterable[Work]) -> str:
    """A line about work that was stopped; empty when all of it had just ended."""
    named = "; ".join(str(each) for each in stopped if each.of.status == "stopped")
    return f"stopped another optimization of these fields: {named}" if named else ""


def _same(a: Leaf, b: Leaf) -> bool:
    if isinstance(a, Field) and isinstance(b, Field) and a.root is b.root:
        return True
    x, y = (leaf.buffer if isinstance(leaf, Field) else leaf for leaf in (a, b))
    return x is not None and y is not None and not apart(x, y)  # None: `reset` has dropped it


WORKING = WorkInProcess()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=WORKING.forget)
