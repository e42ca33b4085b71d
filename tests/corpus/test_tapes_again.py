"""After every program of the corpus its tape can be looked into: backwards again, in the middle, measured."""

import zlib

import numpy as np
import pytest

import dsim as ds
from tests.corpus.matrix import in_f64
from tests.corpus.program import PROGRAMS

pytestmark = pytest.mark.filterwarnings(
    "ignore:warning.serial:dsim.DsimWarning", "ignore:warning.unreached:dsim.GradientWarning"
)


def values(trial):
    """The bits of all fields of a program."""
    cells = (*trial.make.inputs, *trial.make.outputs, *trial.make.others)
    return [c.field.to_numpy().tobytes() for c in cells]


def gradients(trial):
    return [c.field.grad.to_numpy() for c in trial.make.inputs]


def recorded(trial, **options):
    """The tape of a program, run from its start."""
    trial.reset(trial.start)
    with ds.Tape(trial.loss, **options) as tape:
        trial.run()
        for measure in trial.measures:
            measure()
    return tape


def same(left, right):
    for a, b in zip(left, right, strict=True):
        np.testing.assert_allclose(a, b, rtol=0, atol=1e-12 * max(1.0, np.abs(b).max(initial=0.0)))


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_tape_can_be_looked_into(name):
    trial = in_f64(name)
    tape = recorded(trial)
    assert 1 <= len(tape.calls) <= len(tape.entries)
    before, gradient = values(trial), gradients(trial)
    tape.profile()
    same([tape.gradient(c.field) for c in trial.make.inputs], gradient)
    for cell in trial.make.inputs:
        tape.gradient(cell.field, after=len(tape.calls) // 2)
    assert values(trial) == before
    assert [g.tobytes() for g in gradients(trial)] == [g.tobytes() for g in gradient]
    assert str(tape).startswith("tape of")
    tape.backward()
    assert values(trial) == before
    same(gradients(trial), gradient)


# Each runs the program many times: a third of them, always the same.
CHOSEN = [name for name in PROGRAMS if zlib.crc32(name.encode()) % 3 == 1]


@pytest.mark.parametrize("name", CHOSEN)
def test_options_of_a_tape_change_nothing(name):
    trial = in_f64(name)
    recorded(trial)
    before, gradient = values(trial), gradients(trial)
    recorded(trial, find_nan=True, profile=True)
    assert values(trial) == before
    same(gradients(trial), gradient)
    if trial.make.differences is not None:  # whose gradient is on purpose not that of its values
        return
    tape = recorded(trial, grad_check=[c.field for c in trial.make.inputs])
    assert values(trial) == before
    same(gradients(trial), gradient)
    assert tape.check
