"""The values shown by probes in random programs, and the correctness of their reference."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings

from dsim.backends.llvm import probes
from dsim.passes import lower_probes
from dsim.runtime.launching.probe_buffers import Looking
from tests.fuzz.drawing.program import Program
from tests.fuzz.drawing.programs import programs
from tests.fuzz.oracle.assigned import Recorder, assigned, recorded
from tests.fuzz.running import CELL, SHOWN, run
from tests.fuzz.trial import Trial, WrongNumberError

pytestmark = pytest.mark.usefixtures("quick_code")

STEP = 1e-6
PROGRAMS = 60  # within which each planted fault must be found


def test_random_programs():
    tally = run(4, 6, plans=SHOWN)
    assert tally.watched >= 3
    assert tally.shown > 500


def test_reports_of_cells():
    tally = run(2, 4, plans=(CELL,))
    assert tally.watched >= 1
    assert tally.agreed >= 1


@seed(5)
@settings(
    max_examples=5, deadline=None, database=None, phases=[Phase.generate],
    suppress_health_check=[*HealthCheck],
)  # fmt: skip
@given(programs())
def test_what_it_is_compared_with_is_differences(program: Program):
    """One number that one line assigns once is disturbed."""
    if Trial(program).oracle.watch.margin < 1e-4 or "ti.stop_grad" in program.text:
        return  # a step might change what is chosen, or goes through what is cut
    record = assigned(program)
    adjoints = np.concatenate([a.adjoints for a in record or () if a.adjoints is not None])
    for n in np.random.default_rng(1).choice(len(adjoints), 12):
        ahead, behind = (
            recorded(program, (), Recorder(disturbed=n, step=step)).values["loss"] for step in (STEP, -STEP)
        )
        np.testing.assert_allclose((ahead - behind) / (2 * STEP), adjoints[n], rtol=1e-5, atol=1e-5)


def _as_if_forward(s, routine=lower_probes.routine):
    return routine(replace(s, what="tangent") if s.what == "adjoint" else s)


def test_an_adjoint_of_another_trip_is_found(monkeypatch):
    for module in (probes, lower_probes):
        monkeypatch.setattr(module, "routine", _as_if_forward)
    with pytest.raises(WrongNumberError, match="derivative"):
        run(PROGRAMS, 1, plans=SHOWN[:1])


def test_a_value_of_another_trip_is_found(monkeypatch):
    ask = Looking.ask
    monkeypatch.setattr(
        Looking, "ask", lambda self, probe, trip: ask(self, probe, None if trip is None else trip + 1)
    )
    with pytest.raises(WrongNumberError, match=r"value|derivative"):
        run(PROGRAMS, 1, plans=SHOWN[:1])
