"""Whether others have changed what an operation reads in containers and objects that it captures.

What its function and rules change there themselves, such as a cache, is their own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from dsim.runtime.operations.captured import Reader, Snapshot, changed
from dsim.runtime.operations.reach import Marks
from dsim.runtime.operations.reached_values import ReachedValues


class ForeignChanges:
    """Counts the changes of what functions read, beside those that they make.

    Parameters
    ----------
    functions : iterable of callable
        The functions: of an operation, and its rules.
    count : int, default 0
        How many changes were seen before.

    Attributes
    ----------
    names : frozenset of str
        The names of attributes that the functions, and what they call, may read.
    count : int
        How many changes were seen.
    variable : str
        In which variable the last one was.
    """

    def __init__(self, functions: Iterable[Callable[..., Any]], count: int = 0) -> None:
        reached = [ReachedValues(f) for f in functions]
        self.names = frozenset[str]().union(*(each.names for each in reached))
        self.count, self.variable = count, ""
        found: dict[tuple[str, int], Reader] = {}
        for name, read in (reader for each in reached for reader in each.changing()):
            found.setdefault((name, id(read())), (name, read))
        self._readers = tuple(found.values())
        self._left = self._now()

    def look(self) -> int:
        """Counts a change since the functions ran last; gives how many there were."""
        now = self._now()
        name = changed(self._left, now)
        if name is not None:
            self.count, self.variable, self._left = self.count + 1, name, now
        return self.count

    def leave(self) -> None:
        """The functions have run: what has changed since `look` was changed by them."""
        self._left = self._now()

    def _now(self) -> Snapshot:
        return tuple((name, Marks(self.names, draws=False).of(read())) for name, read in self._readers)
