"""Checkpoints of a run of unknown length: at any length, no step has to run more often than necessary."""

from itertools import pairwise

import pytest

from dsim.runtime.schedules.offline import reversible
from dsim.runtime.schedules.online import BASE, place


def positions(steps, slots):
    """Where the checkpoints are after so many steps."""
    kept = [(0, BASE)]
    for at in range(1, steps):
        goes, level = place([one for _, one in kept]) if len(kept) >= slots else (None, 0)
        if goes == 0:
            continue
        if goes is not None:
            del kept[goes]
        kept.append((at, level))
    return [at for at, _ in kept]


def repeats(gap, states):
    """How often a step runs at most, to reverse `gap` steps with `states` states, one of them the first."""
    found = 0
    while reversible(states, found) < gap:
        found += 1
    return found


@pytest.mark.parametrize("slots", [2, 3, 5, 8])
def test_the_repeats_are_as_few_as_for_a_known_length(slots):
    for steps in range(1, 300):
        marks = [*positions(steps, slots), steps]
        assert marks[0] == 0
        assert len(marks) <= slots + 1
        assert marks == sorted(set(marks))
        worst = max(repeats(b - a, slots - n) for n, (a, b) in enumerate(pairwise(marks)))
        assert worst <= repeats(steps, slots)


def test_one_slot_keeps_the_beginning():
    assert positions(50, 1) == [0]
