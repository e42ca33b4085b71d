"""The layout of the probe buffer: a first row of requests, then a row for each slot.

After these comes a row for each probe, with the counters of that probe alone.

`passes.lower_probes` writes it, `runtime.launching.probe_buffers` reads it.
"""

from __future__ import annotations

from enum import IntEnum

AXES = 8  # indices of an iteration: at most as many as a field has axes


class Column(IntEnum):
    """What the columns of a row hold."""

    TIMES = 0  # visits: how often the value was assigned
    HITS = 1  # visits in the requested iteration
    VALUE = 2  # the value kept; an integer's upper bits
    LOW = 3  # the lower 32 bits of an integer
    BAD_VALUES = 4  # how many values were not finite
    LEAST = 5
    GREATEST = 6
    BACK_HITS = 7  # in a probe's own row: how many adjoints it had in the requested iteration
    DERIVATIVE = 8
    SQUARES = 9  # the sum of the derivatives' squares
    BAD_DERIVATIVES = 10
    FOUND = 11  # 1 once the value of the requested visit is kept, 3 once its derivative is too
    OWN = 12  # the own row of the probe that wrote VALUE
    OWN_HIT = 13  # the visits of that probe before, in the iteration
    WHERE = 14  # the iteration of VALUE
    # A kink's row uses TIMES; BACK_HITS, the visits at the kink with a nonzero derivative; the SQUARES of
    # these derivatives; and, if FOUND, WHERE: the first iteration with such a visit. For a minimum or maximum
    # of many, HITS and WHERE are of the ties with the extremum so far, BACK_HITS of the derivatives alone.
    # Derivatives that are not finite count as BAD_DERIVATIVES only.
    # A row for non-finite origins uses TIMES; BAD_VALUES and BAD_DERIVATIVES: results of finite operands.


class Request(IntEnum):
    """What the columns of the first row hold."""

    ONE = 0
    TRIP = 1
    INDEX = 2


WIDTH = Column.WHERE + AXES
