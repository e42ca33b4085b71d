"""What cannot be differentiated right is refused, and the message quotes both lines."""

import pytest

import dsim as ds
from tests.corpus.refusals import REFUSALS

pytestmark = pytest.mark.filterwarnings("ignore:warning.serial:dsim.DsimWarning")


@pytest.fixture(autouse=True)
def _fresh():
    ds.init(default_fp=ds.f64)


@pytest.mark.parametrize("name", REFUSALS)
def test_refused(name):
    refusal = REFUSALS[name]()

    def taped():
        with ds.ad.Tape(loss=refusal.loss):
            refusal.run()

    with pytest.raises(ds.AccessRuleError) as error:
        taped()
    message = str(error.value)
    assert message.startswith("error[overwritten]: ")
    assert refusal.read in message
    assert refusal.overwrite in message
    assert "\nhelp: " in message


@pytest.mark.parametrize("name", REFUSALS)
def test_the_same_runs_without_a_tape(name):
    REFUSALS[name]().run()
