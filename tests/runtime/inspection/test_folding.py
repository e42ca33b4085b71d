"""Repeats in a sequence are found without loss."""

import numpy as np
import pytest

from dsim.runtime.inspection.folding import Repeat, fold, length


def expanded(items):
    out = []
    for item in items:
        out += [item] if isinstance(item, int) else expanded(item.items) * item.count
    return out


@pytest.mark.parametrize("kinds", [1, 2, 3, 5])
def test_what_is_folded_unfolds_to_the_same(kinds):
    rng = np.random.default_rng(kinds)
    for size in range(60):
        sequence = rng.integers(0, kinds, size).tolist()
        items = fold(sequence)
        assert expanded(items) == sequence
        assert length(items) == size


def test_a_simulation():
    assert fold([0, 1, 2] * 2048 + [3]) == (Repeat(2048, (0, 1, 2)), 3)


def test_loops_inside_of_loops():
    frame = [0, *[1, 2, 3] * 1024, 4]
    assert fold(frame * 5) == (Repeat(5, (0, Repeat(1024, (1, 2, 3)), 4)),)
    assert fold(([0] + [1] * 20) * 500) == (Repeat(500, (0, Repeat(20, (1,)))),)


def test_nothing_to_fold():
    assert fold([]) == ()
    assert fold([4]) == (4,)
    assert fold(range(1000)) == tuple(range(1000))


def test_two_repeats_that_touch():
    assert expanded(fold([0, 1, 0, 1, 0, 2, 0, 2])) == [0, 1, 0, 1, 0, 2, 0, 2]
    assert fold([0, 0, 1, 1]) == (Repeat(2, (0,)), Repeat(2, (1,)))
