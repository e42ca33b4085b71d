"""Those who follow what explorers and views show: they are told after each run and update.

The reports of a notebook are one; this layer knows nothing of reports.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Protocol

from dsim.runtime.state.registry import Registry

_NONE: Mapping[str, float] = MappingProxyType({})


class Follower(Protocol):
    """Who wants to know of new numbers."""

    def told(self, numbers: Mapping[str, float]) -> None:
        """Fields have new numbers, and a person has set `numbers` beside them; from any thread, and brief."""
        ...


FOLLOWERS: Registry[Follower] = Registry()


def tell(numbers: Mapping[str, float] = _NONE) -> None:
    """Tells all followers."""
    for follower in FOLLOWERS:
        follower.told(numbers)
