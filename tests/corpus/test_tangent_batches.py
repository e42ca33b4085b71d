"""Tangents along several directions in one pass are those of a pass for each, for every program.

The launches of a run are recorded and repeated: those of the program itself, and those of a forward mode
around a tape, which are its derivatives.
"""

import numpy as np
import pytest

import dsim as ds
from dsim.runtime.checking.replays import Recorder
from dsim.runtime.recording.tangent_batch import TangentBatch
from dsim.runtime.state import randomness
from tests.corpus.matrix import in_f64, parts
from tests.corpus.program import PROGRAMS

pytestmark = [
    pytest.mark.filterwarnings("ignore:warning:dsim.DsimWarning", "ignore:warning:dsim.GradientWarning"),
    pytest.mark.usefixtures("quick_code"),
]

COUNT = 2


@pytest.mark.parametrize("name", PROGRAMS)
def test_first_derivatives(name):
    trial = in_f64(name)
    recorder = _recorded(trial, trial.run)
    outputs = [cell.field for cell in trial.make.outputs]
    _compare(trial, recorder, outputs)


@pytest.mark.slow
@pytest.mark.parametrize("name", list(PROGRAMS)[::8])
def test_second_derivatives(name):
    trial = in_f64(name)
    inputs = [cell.field for cell in trial.make.inputs]
    seeds = parts(trial.make.inputs, trial.direction)

    def run():
        with ds.ad.FwdMode(trial.loss, inputs, seeds), ds.ad.Tape(trial.loss):
            trial.run()
            for measure in trial.measures:
                measure()

    recorder = _recorded(trial, run)
    _compare(trial, recorder, [f.grad for f in inputs] + [f.grad.dual for f in inputs if f.grad.needs_dual])


def _recorded(trial, run):
    trial.reset(trial.start)
    recorder = Recorder()
    with recorder:
        run()
    return recorder


def _compare(trial, recorder, outputs):
    inputs = [cell.field for cell in trial.make.inputs]
    rng = np.random.default_rng(3)
    seeds = [rng.uniform(-1, 1, (COUNT, *f.full_shape)) for f in inputs]

    def reset():
        randomness.restart(1)
        for f, values in recorder.entry.items():
            f.require_memory()[...] = values

    singles = []
    for n in range(COUNT):
        reset()
        with ds.ad.FwdMode(None, inputs, [s[n] for s in seeds]):
            recorder.replay()
        singles.append([_tangent(f) for f in outputs])
    batch = TangentBatch(inputs, COUNT)
    reset()
    with batch.along(seeds):
        recorder.replay()
    for f, *each in zip(outputs, *singles, strict=True):
        found, right = batch.tangents(f), np.stack(each)
        size = max(1.0, np.abs(right).max(initial=0.0))
        np.testing.assert_allclose(found, right, rtol=0, atol=1e-12 * size)


def _tangent(field):
    return field.dual.to_numpy().reshape(field.full_shape) if field.needs_dual else np.zeros(field.full_shape)
