"""Schedules for a known number of steps, beside all schedules and the closed form of revolve."""

from functools import cache

import numpy as np
import pytest
from checkpoint_schedules import optimal_steps_binomial
from checkpoint_schedules.mixed import optimal_steps_mixed

from dsim.runtime.schedules import offline
from dsim.runtime.schedules.offline import (
    OfflineSchedule,
    reversible,
    revolve_advance,
    revolve_runs,
    schedule,
)

pytestmark = pytest.mark.slow

NEVER = 1 << 60


def fewest(state, residual):
    """The recurrence, every choice tried."""

    @cache
    def runs(n, room):
        if n <= 1:
            return n
        found = [1 + runs(n - 1, room - residual)] if room >= residual else []
        if room >= state:
            found += [m + runs(n - m, room - state) + runs(m, room) for m in range(1, n)]
        return min(found, default=NEVER)

    return runs


def followed(plan, n, room, state, residual):
    """How many steps run when the choices of `plan` are followed."""
    if n <= 1:
        return n
    m = plan.advance(n, room)
    if m == 0:
        assert room >= residual
        return 1 + followed(plan, n - 1, room - residual, state, residual)
    assert room >= state
    rest = followed(plan, n - m, room - state, state, residual)
    return m + rest + followed(plan, m, room, state, residual)


@pytest.mark.parametrize(("state", "residual"), [(1, 1), (1, 2), (1, 5), (2, 1), (4, 1), (3, 2), (2, 3)])
def test_no_schedule_runs_fewer_steps(state, residual):
    best, plan = fewest(state, residual), OfflineSchedule(70, 12, state, residual)
    for n in range(1, 71):
        for room in range(state, 13):
            assert followed(plan, n, room, state, residual) == plan.runs(n, room) == best(n, room)


def test_the_closed_form_of_revolve():
    best = fewest(1, NEVER)

    def binomial(n, states):
        if n <= 1:
            return n
        m = revolve_advance(n, states)
        return m + binomial(n - m, states - 1) + binomial(m, states)

    for n in range(1, 90):
        for states in range(1, 9):
            assert revolve_runs(n, states) == binomial(n, states) == best(n, states)
    assert [reversible(3, r) for r in range(4)] == [1, 4, 10, 20]


@pytest.mark.parametrize(("steps", "slots"), [(2, 1), (10, 2), (50, 3), (60, 20), (100, 5), (200, 3)])
def test_the_counts_of_another_package(steps, slots):
    assert schedule(steps, slots).runs(steps, slots) == optimal_steps_mixed(steps, slots)
    if slots < steps:
        assert revolve_runs(steps, slots) == optimal_steps_binomial(steps, slots)


def test_a_thousand_steps_with_twenty_slots():
    plan = schedule(1000, 20)
    assert plan.runs(1000, 20) == 2823  # as the package checkpoint-schedules counts, MixedCheckpointSchedule
    assert followed(plan, 1000, 20, 1, 1) == 2823
    assert revolve_runs(1000, 20) == 3747


def test_a_window_finds_what_all_choices_do():
    plan = schedule(500, 8)
    for n, room in ((300, 3), (400, 8), (500, 5)):
        assert plan.runs(n, room) == _by_all_choices(n, room)


def _by_all_choices(n, room):
    runs = np.full((room + 1, n + 1), NEVER, np.int64)
    runs[:, 0], runs[:, 1] = 0, 1
    for c in range(1, room + 1):
        for k in range(2, n + 1):
            m = np.arange(1, k)
            runs[c, k] = min(1 + runs[c - 1, k - 1], (m + runs[c - 1, k - m] + runs[c, m]).min())
    return runs[room, n]


def test_more_steps_than_a_table_has_rows():
    plan = schedule(100_000, 10)
    m = plan.advance(100_000, 10)
    assert m == revolve_advance(100_000, 10)
    assert 0 < m < 100_000


@pytest.mark.parametrize(("state", "residual"), [(1, 1), (2, 1), (1, 3)])
@pytest.mark.parametrize("room", [100, 200, 400, 700, 1000])
def test_much_room_needs_no_large_table(state, residual, room, monkeypatch):
    monkeypatch.setattr(offline, "_COLUMNS", 1000)
    exact = OfflineSchedule(700, room, state, residual).runs(700, room)
    monkeypatch.undo()
    plan = OfflineSchedule(700, room, state, residual)
    assert plan._runs.shape[1] <= 129
    found = followed(plan, 700, room, state, residual)
    assert exact <= found <= 1.006 * exact
    assert plan.runs(700, room) == pytest.approx(found, rel=0.02)


def test_all_steps_are_recorded_where_they_fit():
    plan = schedule(10_000, 10_000)
    assert plan.advance(10_000, 9_999) == 0
    assert plan.runs(10_000, 10_000) == 10_000
