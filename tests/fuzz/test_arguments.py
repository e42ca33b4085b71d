"""Random programs whose kernels get arrays as arguments, each under two names: nothing changes."""

from __future__ import annotations

from tests.fuzz.arguments import with_arguments
from tests.fuzz.program import Program
from tests.fuzz.running import Plan, run
from tests.fuzz.trial import Outcome, Trial


def _checked(program: Program, plan: Plan) -> Outcome:
    """The oracle of the program as it was drawn, and what dsim makes of it with arrays as arguments."""
    trial = Trial(program)
    if not trial.near:
        trial.program = with_arguments(program)
        for backend in plan.backends[:1]:
            trial.check(backend)
    return trial.outcome()


def test_arrays_as_arguments():
    tally = run(15, 5, _checked)
    assert tally.programs >= 15
    assert tally.agreed >= 10
