"""Which optimisations work: one that begins over fields that another one works on ends that one first."""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dsim.backends.locks import short_lock
from dsim.optimization.control import EndedError, RunControl
from dsim.optimization.refusal import wrong
from dsim.runtime.fields.aliases import apart
from dsim.runtime.fields.fields import Field
from dsim.runtime.state.evaluations import evaluates
from dsim.runtime.state.workers import WORKERS
from dsim.runtime.transforms.objective import Objective
from dsim.runtime.transforms.selection import Leaf

_LOOK = 0.05  # seconds between two looks at whether this thread's own work is to stop
_WHY = "another optimisation of its fields has begun"


@dataclass(eq=False)
class Work:
    """The work of an optimisation.

    Attributes
    ----------
    of : Optimization
        Whose it is.
    objective : Objective
        What it minimises: it changes its parameters and its loss.
    control : RunControl
        By which it is stopped.
    ended : Event
        Whether it has ended.
    held : sequence of ndarray
        What its parameters held before they were given the best values.
    given : sequence of ndarray
        The best values that they were given last.
    """

    of: Any
    objective: Objective
    control: RunControl
    ended: threading.Event
    held: Sequence[np.ndarray] = ()
    given: Sequence[np.ndarray] = ()

    def __str__(self) -> str:
        return f"{self.of.method}, {self.of.done:,} of {self.of.steps:,} steps"

    def shares(self, other: Objective) -> bool:
        """Whether it changes numbers that another one changes."""
        return any(_same(a, b) for a in _changed(self.objective) for b in _changed(other))

    def uses(self, field: Field) -> bool:
        """Whether it goes on, and changes `field` or has read it in its last evaluation."""
        if self.of.status != "running":
            return False
        return field.root in self.objective.roots or any(_same(a, field) for a in _changed(self.objective))

    def give(self, put: Callable[[], None]) -> None:
        """Calls `put`, which gives its parameters the best values; notes before what else they hold."""
        now = self._values()
        if not self.given:
            self.held = now
        else:
            before = zip(now, self.given, self.held, strict=True)
            self.held = [
                held if value.tobytes() == given.tobytes() else value for value, given, held in before
            ]
        put()
        self.given = self._values()

    def _values(self) -> list[np.ndarray]:
        return [_memory(leaf).copy() for leaf in self.objective.wrt.leaves]

    def put_back(self, leaves: Sequence[Leaf]) -> None:
        """Writes what those of its parameters that are among `leaves` held."""
        for leaf, values in zip(self.objective.wrt.leaves, self.held, strict=False):
            if any(leaf is each for each in leaves):
                if isinstance(leaf, Field):
                    leaf.from_numpy(values)
                else:
                    leaf[...] = values


class WorkInProcess:
    """All work that goes on or is paused, held weakly: its thread keeps it until it ends."""

    def __init__(self) -> None:
        self._lock = short_lock()
        self._works: weakref.WeakSet[Work] = weakref.WeakSet()

    def give_way(self, objective: Objective) -> str:
        """Stops what works on fields of `objective`, whose parameters then hold what they held at the call.

        Returns
        -------
        str
            A line about what was stopped.
        """
        stopped = self._stop_others(objective, lambda: None)
        for each in stopped:
            each.put_back(objective.wrt.leaves)
        return _told(stopped)

    def enter(self, work: Work, begin: Callable[[], None]) -> str:
        """Stops what works on the same fields in other threads; then enters `work` and calls `begin`."""

        def entered() -> None:
            self._works.add(work)
            begin()

        return _told(self._stop_others(work.objective, entered))

    def _stop_others(self, objective: Objective, then: Callable[[], None]) -> list[Work]:
        """Stops what works on fields of `objective` in other threads, and calls `then` when nothing does.

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
                others = [w for w in self._works if not w.control.here() and w.shares(objective)]
                if not others:
                    then()
                    return stopped
            if evaluates():
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

    def on(self, field: Field) -> str:
        """The work that goes on in another thread and uses `field`, in words; empty without."""
        with self._lock:
            found = [w for w in self._works if not w.control.here() and w.uses(field)]
        return f"a running optimisation ({found[0]})" if found else ""

    def leave(self, work: Work) -> None:
        """It has ended."""
        with self._lock:
            self._works.discard(work)

    def forget(self) -> None:
        """Nothing works: a child of `os.fork` has none of the threads."""
        self._works = weakref.WeakSet()


def _told(stopped: Iterable[Work]) -> str:
    """A line about work that was stopped; empty when all of it had just ended."""
    named = "; ".join(str(each) for each in stopped if each.of.status == "stopped")
    return f"stopped another optimisation of these fields: {named}" if named else ""


def _changed(objective: Objective) -> tuple[Leaf, ...]:
    return *objective.wrt.leaves, *objective.out.leaves


def _same(a: Leaf, b: Leaf) -> bool:
    """Whether two share memory, or their gradients would."""
    if isinstance(a, Field) and isinstance(b, Field) and a.root is b.root:
        return True
    dropped = any(isinstance(leaf, Field) and leaf.buffer is None for leaf in (a, b))  # by `reset`
    return not dropped and not apart(_memory(a), _memory(b))


def _memory(leaf: Leaf) -> np.ndarray:
    return leaf.require_memory() if isinstance(leaf, Field) else leaf


WORKING = WorkInProcess()
WORKERS.add(WORKING)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=WORKING.forget)
