"""Which of very many points are drawn: a frame of all would keep a page and its connection busy."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from dsim.live.scene.numbers import refused

MOST = 250_000  # 1 MB a frame in two dimensions, without colours


@lru_cache(maxsize=8)
def sample(count: int, most: int) -> np.ndarray | None:
    """The numbers of those of `count` that are drawn, the same each time; None where all are.

    They are random: every fourth point of a lattice may be one of its columns.
    """
    if count <= most:
        return None
    found = np.sort(np.random.default_rng(count).choice(count, most, replace=False, shuffle=False))
    found.flags.writeable = False
    return found


def checked_most(most: Any) -> int:
    """A number of points.

    Raises
    ------
    DsimError
        When it is no whole number above 0.
    """
    if isinstance(most, bool) or not isinstance(most, int | np.integer) or most < 1:
        raise refused(f"`most` is a number of points, not {most!r}", "most=1_000_000")
    return int(most)
