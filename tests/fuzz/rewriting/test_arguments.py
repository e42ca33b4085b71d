"""Random programs whose kernels get arrays as arguments, each under two names, give the same results."""

from __future__ import annotations

from tests.fuzz.running import ARGUMENTS, run


def test_arrays_as_arguments():
    tally = run(4, 5, plans=(ARGUMENTS,))
    assert tally.programs >= 4
    assert tally.agreed >= 2
