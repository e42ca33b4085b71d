"""How often loops poll the stop flag, and that the answer takes time in proportion to the loop nest."""

from __future__ import annotations

from contextlib import ExitStack

import pytest

from dsim.backends.llvm import poll_intervals
from dsim.ir.nodes import For
from dsim.ir.types import i32
from tests.building import Building


def nest(*trips: int | None) -> For:
    """Loops inside one another, of so many trips each, None for a number known at run time."""
    k = Building()
    x, n = k.field("x", 8), k.param("n", i32)
    with ExitStack() as loops:
        for depth, count in enumerate(trips):
            loops.enter_context(k.loop(f"i{depth}", 0, n if count is None else count))
        k.accumulate(x, 0, 0.5)
    (loop,) = k.kernel().body.statements
    assert isinstance(loop, For)
    return loop


@pytest.mark.parametrize("trips", [(1000,), (100, 1000), (8, 8, 8)])
def test_loops_that_are_known_to_be_short_never_poll(trips: tuple[int, ...]) -> None:
    assert poll_intervals.every(nest(*trips)) == 0


@pytest.mark.parametrize("trips", [(None,), (1 << 30,), (None, None), (None, 8), (1 << 12, 1 << 12)])
def test_others_poll_each_so_many_trips(trips: tuple[int | None, ...]) -> None:
    every = poll_intervals.every(nest(*trips))
    assert every > 0
    assert every.bit_count() == 1


def test_a_loop_around_one_that_polls_is_not_innermost() -> None:
    assert poll_intervals.innermost(nest(None))
    assert poll_intervals.innermost(nest(None, 8))
    assert not poll_intervals.innermost(nest(None, None))


@pytest.mark.parametrize("depth", [4, 16])
def test_each_statement_of_a_nest_is_looked_at_once(depth: int, monkeypatch: pytest.MonkeyPatch) -> None:
    looked = []
    cost_of_one = poll_intervals.one
    monkeypatch.setattr(poll_intervals, "one", lambda s: looked.append(s) or cost_of_one(s))
    loop = nest(*[None] * depth)
    poll_intervals.every(loop)
    assert len(looked) == 1
