"""A few random programs of each kind, with fixed seeds; `make fuzz` draws others."""

from __future__ import annotations

import pytest

from tests.fuzz.running import KINDS, run

SEEDS = dict.fromkeys(KINDS, 3)


@pytest.mark.parametrize("kind", KINDS)
def test_kind(kind):
    plan = KINDS[kind][0].small
    tally = run(2, SEEDS[kind], plans=(plan,))
    assert list(tally.kinds) == [plan.kind]
    assert tally.agreed >= 1
    assert tally.near <= 1
