"""Programs of the corpus with checkpoints: each launch, or every third, is a step of their tapes."""

import zlib

import pytest

import dsim as ds
from tests.corpus.matrix import Trial
from tests.corpus.program import PROGRAMS
from tests.fuzz.rewriting.stepped import Stepping

pytestmark = pytest.mark.filterwarnings(
    "ignore:warning.serial:dsim.DsimWarning", "ignore:warning.unreached:dsim.GradientWarning"
)


def values(trial):
    cells = (*trial.make.inputs, *trial.make.outputs, *trial.make.others)
    return [c.field.to_numpy().tobytes() for c in cells]


def gradients(trial):
    return [c.field.grad.to_numpy().tobytes() for c in trial.make.inputs]


def run(trial, slots=None, every=1, **options):
    """The tape of three runs of a program, one after the other."""
    trial.reset(trial.start)

    def body():
        for _ in range(3):
            trial.run()
        for measure in trial.measures:
            measure()

    with ds.Tape(trial.loss, **options) as tape:
        if slots is None:
            body()
        else:
            with Stepping(lambda: tape.step(slots=slots), every):
                body()
    return tape


# Each runs the program fifteen times: a sixth of them in each type, always the same.
CHOSEN = [
    (name, real)
    for name in PROGRAMS
    for number, real in enumerate(("f64", "f32"))
    if zlib.crc32(name.encode()) % 6 == number
]


@pytest.mark.parametrize(("name", "real"), CHOSEN)
def test_the_gradient_with_checkpoints_is_that_without(name, real):
    trial = Trial(name, real)
    run(trial)
    plain = values(trial), gradients(trial)
    for slots, every in ((1, 1), (3, 1), (2, 3)):
        run(trial, slots, every)
        assert (values(trial), gradients(trial)) == plain
    run(trial, budget=1 << 13)
    assert (values(trial), gradients(trial)) == plain
