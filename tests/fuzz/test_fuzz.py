"""Random programs: gradient = oracle, forward = reverse, reference = compiled, in place = with fresh fields.

``make fuzz`` does the same for as long as one likes.
"""

from __future__ import annotations

from tests.fuzz.running import FIRST_ORDER, SECOND_ORDER, run


def test_random_programs(capsys):
    tally = run(10, 5, plans=FIRST_ORDER)
    with capsys.disabled():
        print("\n" + tally.table())
    assert tally.programs >= 10
    assert tally.share("all three") >= 0.5
    assert tally.near < 0.3 * tally.programs


def test_second_order():
    tally = run(2, 4, plans=SECOND_ORDER)
    assert tally.programs >= 2
    assert tally.near < tally.programs
