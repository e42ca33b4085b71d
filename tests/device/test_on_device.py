"""A sample of what is recorded, replayed on the device of this machine: `pytest -m cuda`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.device.bundle import Bundle, Writer
from tests.device.driver import Driver
from tests.device.player import Player
from tests.device.programs import record_program
from tests.device.recording import SLOTS
from tests.device.replay import GRIDS
from tests.device.reports import record_reports

pytestmark = [
    pytest.mark.cuda,
    pytest.mark.filterwarnings("ignore:warning.serial:dsim.DsimWarning"),
]
PROGRAMS = ("gravity", "atomic_maximum", "sorted_in_place", "mean_and_variance")


@pytest.fixture(scope="module")
def driver() -> Driver:
    return Driver()


@pytest.mark.parametrize("real", ["f32", "f64"])
@pytest.mark.parametrize("program", PROGRAMS)
def test_a_program(program, real, driver, tmp_path):
    writer = Writer(tmp_path / "bundle.zip", SLOTS)
    record_program(writer, program, real)
    _holds(writer, driver)


def test_reports(driver, tmp_path):
    writer = Writer(tmp_path / "bundle.zip", SLOTS)
    record_reports(writer)
    _holds(writer, driver)


def _holds(writer: Writer, driver: Driver) -> None:
    writer.close()
    bundle = Bundle(Path(writer.path))
    player = Player(driver, bundle)
    outcomes = {(run.label, grid): player.play(run, grid).wrong for run in bundle.runs for grid in GRIDS}
    assert {where: wrong for where, wrong in outcomes.items() if wrong} == {}
