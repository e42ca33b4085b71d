"""Tangents of host operations along several directions, in one pass."""

import numpy as np
import pytest

import dsim as ds
from dsim.runtime.checking.replays import Recorder
from dsim.runtime.recording.tangent_batch import TangentBatch
from tests.operations.programs import around, made, room


@pytest.fixture(autouse=True)
def _fresh():
    ds.init(default_fp=ds.f64)


def _program():
    """A solution of linear equations, and what depends on it: once more, and as a constant."""
    rng = np.random.default_rng(0)
    A, b, x, z = made(rng.normal(size=(3, 3)) + 4 * np.eye(3)), made(rng.normal(size=3)), room(3), room(3)

    constant = ds.ad.no_grad(lambda: ds.operations.solve(A, z, out=b))

    def call():
        ds.operations.solve(A, b, out=x)
        ds.operations.solve(A, x, out=z)
        constant()

    run, loss = around(call, [z, b], rng)
    return run, loss, A, b, x, z


@pytest.mark.slow
@pytest.mark.parametrize("second", [False, True], ids=["operations", "their derivatives"])
def test_those_of_single_passes(second):
    run, loss, A, b, x, z = _program()
    rng = np.random.default_rng(1)

    def differentiated():
        with ds.ad.FwdMode(loss, A, rng.normal(size=(3, 3))), ds.Tape(loss):
            run()

    recorder = Recorder()
    with recorder:
        (differentiated if second else run)()
    outputs = [A.grad, A.grad.dual, b.grad] if second else [x, z, loss, b]
    seeds = [rng.normal(size=(2, 3, 3)), rng.normal(size=(2, 3))]
    recorder.restore()
    batch = TangentBatch([A, b], 2)
    with batch.along(seeds):
        recorder.replay()
    for n in range(2):
        recorder.restore()
        with ds.ad.FwdMode(None, [A, b], [s[n] for s in seeds]):
            recorder.replay()
        for f in outputs:
            np.testing.assert_allclose(batch.tangents(f)[n], f.dual.to_numpy(), rtol=1e-11, atol=1e-13)
