"""The memory of a watched kernel: a row for each number that it shows, and a first row of requests.

Behind them is a row for each probe, in which it counts how often it was reached.

`passes.lower_probes` writes it, `runtime.watching` reads it.
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
    BACK_HITS = 7  # of one probe: how many derivatives came by in the iteration
    DERIVATIVE = 8
    SQUARES = 9  # the sum of the derivatives' squares
    BAD_DERIVATIVES = 10
    FOUND = 11  # 1 when the trip looked for came by, of the derivative 2 more
    OWN = 12  # the row of the probe that VALUE is of
    OWN_HIT = 13  # how often that probe had been reached before, in the iteration
    WHERE = 14  # the iteration that VALUE is of
    # Of a row of a kink: TIMES; BACK_HITS, how often it was there and a derivative came by; the SQUARES of
    # these; when FOUND, WHERE the first iteration in which that was so. Of a minimum or maximum of many HITS
    # and WHERE are of the ties with the extremum so far, and BACK_HITS of the derivatives alone.
    # Derivatives that are not finite count as BAD_DERIVATIVES there, and as nothing else.
    # Of a row of a birth: TIMES; BAD_VALUES and BAD_DERIVATIVES, how often one was born.


class Request(IntEnum):
    """What the columns of the first row hold."""

    ONE = 0
    TRIP = 1
    INDEX = 2


WIDTH = Column.WHERE + AXES
