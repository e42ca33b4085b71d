"""The memory of a watched kernel: one row for each number that it shows, and a first row of requests.

`passes.exposed` writes it, `runtime.watching` reads it.
"""

from __future__ import annotations

from enum import IntEnum

AXES = 8  # of an iteration: as many as a field has at most


class Column(IntEnum):
    """What the columns of a row hold."""

    TIMES = 0  # how often the value came by
    HITS = 1  # how often in the iteration looked for
    VALUE = 2  # of an integer its upper bits
    LOW = 3  # the lower 32 bits of an integer
    BAD_VALUES = 4  # how many values were not finite
    LEAST = 5
    GREATEST = 6
    BACK_HITS = 7  # how many derivatives came by in the iteration
    DERIVATIVE = 8
    SQUARES = 9  # the sum of the derivatives' squares
    BAD_DERIVATIVES = 10
    FOUND = 11  # 1 when the trip looked for came by, of the derivative 2 more
    WHERE = 12  # the iteration that VALUE is of


class Request(IntEnum):
    """What the columns of the first row hold."""

    ONE = 0
    TRIP = 1
    INDEX = 2


WIDTH = Column.WHERE + AXES
