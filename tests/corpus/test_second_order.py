"""Second derivatives of every program, in each of the four nestings of tapes and forward modes.

All give the product of the Hessian with a direction (forward mode twice: its component along the direction),
and are compared with differences of the gradient.
"""

import numpy as np
import pytest

import dsim as ds
from tests.corpus.matrix import flat, in_f64, parts, weighing
from tests.corpus.program import PROGRAMS, Cell

pytestmark = [
    pytest.mark.usefixtures("quick_code"),
    pytest.mark.filterwarnings("ignore:warning.serial:dsim.DsimWarning"),
    pytest.mark.filterwarnings("ignore:warning.unreached:dsim.GradientWarning"),
]

# What is stopped counts as a number in every derivative, but it changes in differences of a gradient.
NAMES = [name for name in PROGRAMS if name != "stopped_gradients"]
STEP = 1e-6


@pytest.mark.parametrize("name", NAMES)
def test_second_derivatives(name):
    trial = in_f64(name)
    ahead, behind = (_gradient(trial, trial.start + h * trial.direction) for h in (STEP, -STEP))
    right = (ahead - behind) / (2 * STEP)
    close = {"rtol": 0, "atol": 1e-5 * max(1.0, np.abs(right).max(initial=0.0))}
    np.testing.assert_allclose(_forward_over_reverse(trial), right, **close)
    np.testing.assert_allclose(_reverse_over_forward(trial), right, **close)
    along = right @ trial.direction
    assert abs(_forward_over_forward(trial) - along) <= close["atol"] * right.size
    np.testing.assert_allclose(_reverse_over_reverse(trial), right, **close)


def _inputs(trial):
    return [cell.field for cell in trial.make.inputs]


def _run(trial):
    trial.run()
    for measure in trial.measures:
        measure()


def _gradients(trial):
    return flat([f.grad.to_numpy() for f in _inputs(trial)])


def _gradient(trial, at):
    trial.reset(at)
    with ds.ad.Tape(loss=trial.loss):
        _run(trial)
    return _gradients(trial)


def _forward(trial):
    seeds = parts(trial.make.inputs, trial.direction)
    return ds.ad.FwdMode(loss=trial.loss, param=_inputs(trial), seed=seeds)


def _forward_over_reverse(trial):
    trial.reset(trial.start)
    with _forward(trial), ds.ad.Tape(loss=trial.loss):
        _run(trial)
    return flat([f.grad.dual.to_numpy() for f in _inputs(trial)])


def _forward_over_forward(trial):
    trial.reset(trial.start)
    with _forward(trial), _forward(trial):
        _run(trial)
    return trial.loss.dual.dual[None]


def _reverse_over_forward(trial):
    slope, loss = ds.field(ds.f64, shape=(), needs_grad=True), trial.loss

    @ds.kernel
    def take():
        slope[None] = loss.dual[None]

    trial.reset(trial.start)
    with ds.ad.Tape(loss=slope):
        with _forward(trial):
            _run(trial)
        take()
    return _gradients(trial)


def _reverse_over_reverse(trial):
    slope = ds.field(ds.f64, shape=(), needs_grad=True)
    seeds = parts(trial.make.inputs, trial.direction)
    gradients = [Cell(f.grad, seed) for f, seed in zip(_inputs(trial), seeds, strict=True)]
    along = [weighing(cell, trial.make, slope, cell.start) for cell in gradients]
    trial.reset(trial.start)
    with ds.ad.Tape(loss=slope):
        with ds.ad.Tape(loss=trial.loss):
            _run(trial)
        for add in along:
            add()
    return _gradients(trial)
