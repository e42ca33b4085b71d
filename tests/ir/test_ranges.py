"""The length of a range, against Python."""

import itertools

from dsim.ir.build import const
from dsim.ir.nodes import Block, For, Var
from dsim.ir.ranges import known_trips, length
from dsim.ir.types import i64

LOW, HIGH = -(1 << 63), (1 << 63) - 1


def test_as_python_counts() -> None:
    for start, stop, step in itertools.product(range(-5, 6), range(-5, 6), (1, 2, 3, 7, -1, -2, -3, -7)):
        assert length(start, stop, step) == len(range(start, stop, step))


def test_beyond_what_python_counts() -> None:
    assert length(LOW, HIGH, 1) == (1 << 64) - 1
    assert length(HIGH, LOW, LOW) == 2
    assert length(HIGH, LOW, 1) == 0


def test_of_a_loop() -> None:
    ends = const(LOW, i64), const(HIGH, i64)
    assert known_trips(For(Var("i", i64), *ends, HIGH, Block(()))) == 3
    assert known_trips(For(Var("i", i64), Var("n", i64), ends[1], 1, Block(()))) is None
