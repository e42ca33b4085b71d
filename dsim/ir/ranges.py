"""The length of a range: as ``len(range(…))``, which fails beyond 2^63 - 1."""

from __future__ import annotations

from dsim.ir.nodes import Const, For

MOST = (1 << 63) - 1  # the largest trip count; no loop reaches it


def length(start: int, stop: int, step: int) -> int:
    """The length of ``range(start, stop, step)``.

    >>> length(0, 10, 3), length(3, 0, -1), length(5, 0, 1), length(-(2**63), 2**63 - 1, 1)
    (4, 3, 0, 18446744073709551615)
    """
    distance = stop - start if step > 0 else start - stop
    return -(-max(0, distance) // abs(step))


def known_trips(s: For) -> int | None:
    """The length of the range of `s`, if its ends are constants; `goes_on` may end the loop earlier."""
    if not isinstance(s.start, Const) or not isinstance(s.stop, Const):
        return None
    return length(int(s.start.value), int(s.stop.value), s.step)
