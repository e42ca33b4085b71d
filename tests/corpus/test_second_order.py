"""Second derivatives of every program: forward mode over a tape, and a tape over forward mode.

Both give the product of the Hessian with a direction, and are compared with differences of the gradient.
"""

import numpy as np
import pytest

import dsim as ds
from tests.corpus.matrix import Trial, flat, parts
from tests.corpus.program import PROGRAMS

pytestmark = pytest.mark.filterwarnings(
    "ignore:warning.serial:dsim.DsimWarning", "ignore:warning.unreached:dsim.GradientWarning"
)

# What is stopped counts as a number in every derivative, but it changes in differences of a gradient.
NAMES = [name for name in PROGRAMS if name != "stopped_gradients"]
STEP = 1e-6


@pytest.mark.parametrize("name", NAMES)
def test_second_derivatives(name):
    trial = Trial(name, "f64")
    ahead, behind = (_gradient(trial, trial.start + h * trial.direction) for h in (STEP, -STEP))
    right = (ahead - behind) / (2 * STEP)
    tolerance = 1e-5 * max(1.0, np.abs(right).max(initial=0.0))
    np.testing.assert_allclose(_forward_over_reverse(trial), right, rtol=0, atol=tolerance)
    np.testing.assert_allclose(_reverse_over_forward(trial), right, rtol=0, atol=tolerance)


def _inputs(trial):
    return [cell.field for cell in trial.make.inputs]


def _run(trial):
    trial.run()
    for measure in trial.measures:
        measure()


def _gradient(trial, at):
    trial.reset(at)
    with ds.ad.Tape(loss=trial.loss):
        _run(trial)
    return flat([f.grad.to_numpy() for f in _inputs(trial)])


def _forward(trial):
    seeds = parts(trial.make.inputs, trial.direction)
    return ds.ad.FwdMode(loss=trial.loss, param=_inputs(trial), seed=seeds)


def _forward_over_reverse(trial):
    trial.reset(trial.start)
    with _forward(trial), ds.ad.Tape(loss=trial.loss):
        _run(trial)
    return flat([f.grad.dual.to_numpy() for f in _inputs(trial)])


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
    return flat([f.grad.to_numpy() for f in _inputs(trial)])
