"""What runs in a loop with checkpoints, and what it keeps: counted, beside the actions of another package."""

import numpy as np
import pytest

import dsim as ti
from tests.bench.checkpoints import in_slots, memory, mixed, program, runs


@pytest.fixture(autouse=True)
def deterministic():
    ti.init(default_fp=ti.f64, deterministic=True)


@pytest.mark.slow
@pytest.mark.parametrize(("steps", "slots"), [(40, 1), (100, 5), (300, 10), (300, 30)])
@pytest.mark.filterwarnings("ignore:warning.reruns:dsim.DsimWarning")
def test_as_many_steps_run_as_in_the_best_schedule(steps, slots):
    counted = runs(program(3), in_slots(steps, slots))
    assert counted == mixed(steps, slots)[0]
    assert runs(program(3), lambda _: range(steps)) == steps


def test_where_all_residuals_fit_only_the_first_step_runs_again():
    """It was run to measure them."""
    assert mixed(9, 20)[0] == 9
    assert runs(program(3), in_slots(9, 20)) == 10


@pytest.mark.slow
@pytest.mark.parametrize("slots", [4, 12])
def test_the_memory_is_that_of_the_slots(slots):
    """Beside them: the first state, a step's residuals, what is put back at the end, and Python's objects."""
    p = program(1 << 15)
    kept = memory(p, in_slots(300, slots))
    assert mixed(300, slots)[1] == slots
    assert slots < kept < slots + 4
    assert np.frombuffer(p.gradient(in_slots(300, slots))).all()
