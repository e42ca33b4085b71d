"""Overwrites of values that a gradient needs: refused, quoting both lines, or differentiated correctly."""

import numpy as np
import pytest

import dsim as ds
from tests.corpus.refusals import REFUSALS

pytestmark = pytest.mark.filterwarnings("ignore:warning.serial:dsim.DsimWarning")


@pytest.fixture(autouse=True)
def _fresh():
    ds.init(default_fp=ds.f64)


def _taped(program, **options):
    with ds.ad.Tape(loss=program.loss, **options) as tape:
        program.run()
    return tape


@pytest.mark.parametrize("name", REFUSALS)
def test_refused(name):
    program = REFUSALS[name]()
    with pytest.raises(ds.AccessRuleError) as error:
        _taped(program, on_overwrite="error")
    message = str(error.value)
    assert message.startswith("error[overwritten]: ")
    assert program.read in message
    assert program.overwrite in message
    assert "\nhelp: " in message


@pytest.mark.parametrize("name", REFUSALS)
def test_the_same_runs_without_a_tape(name):
    REFUSALS[name]().run()


@pytest.mark.parametrize("name", REFUSALS)
def test_saved_and_right(name):
    program = REFUSALS[name]()
    start = [f.to_numpy() for f in program.fields]

    def run(changed=None, by=0.0):
        for f, values in zip(program.fields, start, strict=True):
            f.from_numpy(values)
        if changed is not None:
            changed[0][changed[1]] += by
        program.loss[None] = 0.0
        program.run()
        return program.loss[None]

    run()
    final = [f.to_numpy() for f in program.fields]
    for f, values in zip(program.fields, start, strict=True):
        f.from_numpy(values)
    tape = _taped(program)
    assert tape.saved_bytes > 0
    for f, values in zip(program.fields, final, strict=True):
        np.testing.assert_array_equal(f.to_numpy(), values)
    asked = [f for f in program.fields if f.needs_grad and f is not program.loss]
    for f in asked:
        found = f.grad.to_numpy()
        for at in np.ndindex(f.shape):
            slope = (run((f, at), 1e-5) - run((f, at), -1e-5)) / 2e-5
            assert found[at] == pytest.approx(slope, rel=1e-7, abs=1e-8)
