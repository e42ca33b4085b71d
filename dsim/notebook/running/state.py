"""Snapshots that restore fields bit for bit: a report inspects a program and leaves no trace."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import numpy as np

from dsim.runtime.fields.brought import as_numpy
from dsim.runtime.fields.fields import Field, companions_with_memory, foreign
from dsim.runtime.launching.forms import Form
from dsim.runtime.recording.write_history import Trial
from dsim.runtime.state import randomness, turns
from dsim.runtime.state.evaluations import EVALUATING
from dsim.runtime.state.interruption import held
from dsim.runtime.state.stack import explain, explanation, set_aside


def touched(form: Form, args: Iterable[Any] = ()) -> list[Field | np.ndarray]:
    """The primal fields of `form`, and the memory of arrays and tensors among the arguments of a launch."""
    fields = dict.fromkeys(f.root for f in form.fields.values() if f.root.buffer is not None)
    return [*fields, *arrays(args)]


def arrays(args: Iterable[Any]) -> Iterator[np.ndarray]:
    """The memory of arrays and tensors among arguments."""
    for a in args:
        try:
            yield as_numpy(a)
        except TypeError:  # it is none, or the launch refuses it
            continue


class Snapshot:
    """The numbers of fields and arrays at one time, and which random numbers come next.

    Attributes
    ----------
    changed : dict of Field to int
        When Python had written to the fields, on the clock of changes.py.
    turns : list of int
        In which turns they were written, and set to zero.
    """

    def __init__(self, what: Iterable[Field | np.ndarray]) -> None:
        self._random = randomness.place()
        self._kept = [(w, _memory(w).copy(), _turns(w)) for w in what]
        self.changed = {w: w.changed for w, _, _ in self._kept if isinstance(w, Field)}
        self.turns = [n for _, _, noted in self._kept for n in noted]

    def put_back(self) -> None:
        """Restores all of them, without noting writes."""
        randomness.return_to(self._random)
        for what, values, noted in self._kept:
            if isinstance(what, Field) and what.derivative and foreign(what):
                continue  # another thread has written to it since
            _memory(what)[...] = values
            if isinstance(what, Field):
                what.touched, what.cleared = noted  # whichever task's they are


def _turns(what: Field | np.ndarray) -> tuple[int, int]:
    return (what.touched, what.cleared) if isinstance(what, Field) else (0, 0)


def _memory(what: Field | np.ndarray) -> np.ndarray:
    return what.require_memory() if isinstance(what, Field) else what


@contextmanager
def kept(what: Iterable[Field | np.ndarray]) -> Iterator[None]:
    """Restores these on exit, also after an error; tapes do not count it as a change.

    Interrupts are held (`interruption.heard` hears them).
    """
    with EVALUATING, held(raises=True), randomness.apart():
        before, trial = Snapshot(what), Trial()
        try:
            yield
        finally:
            trial.undo(before.changed, before.put_back)


@contextmanager
def gradients_kept(of: Iterable[Field | np.ndarray] = (), *, on_error: bool = False) -> Iterator[None]:
    """Restores all gradients and tangents on exit, new ones to 0; or only after an error.

    Values of other threads are not changed, except in the fields of `of`.
    """
    roots = {f.root for f in of if isinstance(f, Field)}
    before, trial = Snapshot(_gradients(roots)), Trial()

    def put_back() -> None:
        before.put_back()
        for f in _gradients(roots):
            if f not in before.changed and f.touched:
                f.require_memory().fill(0)
                f.written_by_python()
                f.touched = 0

    try:
        with turns.remembered(before.turns):
            yield
    except BaseException:
        trial.undo(before.changed, put_back)
        raise
    if on_error:
        trial.close()
    else:
        trial.undo(before.changed, put_back)


@contextmanager
def unnoticed(of: Iterable[Field | np.ndarray]) -> Iterator[None]:
    """As `gradients_kept` of these, and zeros have the explanations of before. Interrupts are held."""
    explained = {last: explanation(last) for last in ("bar", "dot")}
    with EVALUATING, held(raises=True):
        try:
            with gradients_kept(of):
                yield
        finally:
            for last, who in explained.items():
                explain(last, who)


@contextmanager
def alone() -> Iterator[None]:
    """Hides the block from open tapes and forward modes; their gradients stay.

    Interrupts are held.
    """
    with EVALUATING, held(raises=True), set_aside() as others, gradients_kept() if others else nullcontext():
        yield


def _gradients(roots: Collection[Field]) -> list[Field]:
    found = (f for last in ("bar", "dot") for f in companions_with_memory(last))
    return [f for f in found if f.root in roots or not foreign(f)]
