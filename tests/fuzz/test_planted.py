"""Mutation tests: random programs find faults planted in dsim."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dsim.autodiff import backward_sweep
from dsim.ir.primitives import TABLE
from dsim.runtime.saving.snapshots import SnapshotStore
from tests.fuzz.drawing.program import Program
from tests.fuzz.running import run
from tests.fuzz.trial import Outcome, Trial, WrongNumberError

pytestmark = pytest.mark.usefixtures("quick_code")

PROGRAMS = 200  # within which each fault must be found

# A row of the table, and what each of its derivatives is said to be.
ROWS = {
    "tanh": (lambda x, z, t: (1 - z) * t,),
    "div": (TABLE["div"].times[0], lambda x, y, z, t: -x / y * t),
    "max": (lambda x, y, z, t: t, TABLE["max"].times[1]),
}


def _gradients(program: Program, plan: object) -> Outcome:
    """Looks at the gradient alone, which is quick."""
    trial = Trial(program)
    if not trial.near:
        trial.check_gradient("reference")
    return trial.outcome()


@pytest.mark.parametrize("name", ROWS)
def test_a_wrong_derivative(name, monkeypatch):
    monkeypatch.setitem(TABLE, name, replace(TABLE[name], times=ROWS[name]))
    with pytest.raises(WrongNumberError, match="gradient"):
        run(PROGRAMS, 2, _gradients)


def test_one_element_too_few_is_saved(monkeypatch):
    save = SnapshotStore.save

    def less(snapshots, field, box, *how):
        if box and box[-1][1] - box[-1][0] > 1:
            box = (*box[:-1], (box[-1][0], box[-1][1] - 1))
        return save(snapshots, field, box, *how)

    monkeypatch.setattr(SnapshotStore, "save", less)
    with pytest.raises(WrongNumberError, match="gradient"):
        run(PROGRAMS, 2, _gradients)


def test_integers_are_not_put_back(monkeypatch):
    restore = SnapshotStore.restore

    def floats_only(snapshots, field, box, values):
        if field.dtype.is_float:
            restore(snapshots, field, box, values)

    monkeypatch.setattr(SnapshotStore, "restore", floats_only)
    with pytest.raises(WrongNumberError, match=r"gradient|values"):
        run(PROGRAMS, 2, _gradients)


def test_what_a_loop_overwrote_is_not_undone(monkeypatch):
    monkeypatch.setattr(backward_sweep, "roll_back", lambda ctx, marks: None)
    with pytest.raises(WrongNumberError, match=r"gradient|values"):
        run(PROGRAMS, 45, _gradients)
