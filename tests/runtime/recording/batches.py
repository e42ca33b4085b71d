"""Runs that are recorded, and repeated with tangents along several directions."""

import numpy as np

import dsim as ti
from dsim.runtime.checking.replays import Recorder
from dsim.runtime.recording.tangent_batch import TangentBatch


def field(*shape, values=None):
    """A field of 64-bit floats."""
    made = ti.field(ti.f64, shape=shape)
    if values is not None:
        made.from_numpy(np.asarray(values, np.float64))
    return made


def recorded(run):
    """The launches of `run`, whose writes are put back."""
    recorder = Recorder()
    with recorder:
        run()
    recorder.restore()
    return recorder


def pushed(run, params, outputs, seeds, width=None):
    """The tangents of the outputs: `run` recorded, put back, and repeated in a batch."""
    recorder = recorded(run)
    batch = TangentBatch(params, width or len(seeds[0]))
    with batch.along(seeds):
        recorder.replay()
    return [batch.tangents(f) for f in outputs]
