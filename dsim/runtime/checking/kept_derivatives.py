"""Gradients and tangents as they were, to be put back.

Those of fields that a run does not touch stay where they are: a small problem would else pay for the
gradients of every large field in the process.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from typing import NamedTuple

import numpy as np

from dsim.runtime.fields.fields import Field, foreign
from dsim.runtime.fields.storage import COMPANIONS
from dsim.runtime.state import turns


class _Before(NamedTuple):
    """What a gradient or tangent was.

    Attributes
    ----------
    values : ndarray or None
        Its numbers; None if it was zero.
    touched, cleared : int
        The turns in which it was written and set to zero.
    changed : int
        When Python had last written to it.
    elsewhere : bool
        Whether another thread or task had written to it last.
    """

    values: np.ndarray | None
    touched: int
    cleared: int
    changed: int
    elsewhere: bool


_ZERO = _Before(None, 0, 0, 0, False)


class KeptDerivatives:
    """The gradients and tangents of some fields, as they were when each field was kept first."""

    def __init__(self) -> None:
        self._roots: dict[Field, dict[Field, _Before]] = {}

    def keep(self, roots: Iterable[Field]) -> None:
        """Keeps those of these fields."""
        for root in roots:
            if root not in self._roots:
                companions = list(root.companions.values())
                self._roots[root] = {f: _noted(f) for f in companions if f.buffer is not None}

    def keep_all(self) -> None:
        """Keeps those of all fields."""
        self.keep({f.root for f in COMPANIONS})

    def move_to(self, other: KeptDerivatives) -> None:
        """Gives what is kept here away, where the other one does not have it."""
        for root, found in self._roots.items():
            other._roots.setdefault(root, found)
        self._roots = {}

    def changed(self) -> dict[Field, int]:
        """When Python had last written to each that was not another thread's."""
        noted = (each for found in self._roots.values() for each in found.items())
        return {f: was.changed for f, was in noted if not was.elsewhere}

    def keep_new(self, known: Container[Field]) -> None:
        """Keeps those of fields that had none: this thread has written the ones that are not `known`."""
        for f in list(COMPANIONS):
            if f.touched and f not in known and not foreign(f):
                self._roots.setdefault(f.root, {})

    def put_back(self, wanted: Mapping[Field, bool]) -> None:
        """Restores all; those that were not there are zero then, and no user's.

        Parameters
        ----------
        wanted : mapping of Field to bool
            The gradients and tangents that there were, each with whether it was a user's.
        """
        for root, found in self._roots.items():
            for f in list(root.companions.values()):
                if f.buffer is not None and not foreign(f):  # else another thread's now
                    _restore(f, found.get(f, _ZERO) if f in wanted else _ZERO)
                    f.wanted = wanted.get(f, False)


def _noted(f: Field) -> _Before:
    values = f.require_memory().copy() if f.touched else None
    return _Before(values, f.touched, f.cleared, f.changed, foreign(f))


def _restore(f: Field, was: _Before) -> None:
    if f.touched or was.values is not None:
        f.require_memory()[...] = 0 if was.values is None else was.values
    if was.elsewhere:
        f.touched, f.cleared = was.touched, was.cleared
    else:
        f.touched = turns.current() if was.values is not None else 0
