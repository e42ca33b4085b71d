"""Random programs: gradient = oracle, forward = reverse, reference = compiled, in place = with fresh fields.

``make fuzz`` does the same for as long as one likes.
"""

from __future__ import annotations

from tests.fuzz.running import run


def test_random_programs(capsys):
    tally = run(20, 1)
    with capsys.disabled():
        print("\n" + tally.table())
    assert tally.programs >= 20
    assert tally.share("all three") >= 0.5
    assert tally.near < 0.3 * tally.programs
