"""Random programs whose kernels get arrays as arguments, each under two names: nothing changes."""

from __future__ import annotations

from tests.fuzz.program import Program
from tests.fuzz.running import Plan, check, run
from tests.fuzz.trial import Outcome


def _checked(program: Program, plan: Plan) -> Outcome:
    return check(program, Plan(plan.backends[:1], arguments=True))


def test_arrays_as_arguments():
    tally = run(15, 5, _checked)
    assert tally.programs >= 15
    assert tally.agreed >= 10
