"""Those who work on fields in threads of their own, and would mix two problems if an explorer wrote there.

The optimisations of a process are one; this layer knows nothing of them.
"""

from __future__ import annotations

from typing import Protocol

from dsim.runtime.fields.fields import Field
from dsim.runtime.state.registry import Registry


class Workers(Protocol):
    """Who knows of work in threads."""

    def on(self, field: Field) -> str:
        """What works on `field` now, in another thread, in words; empty when nothing does."""
        ...


WORKERS: Registry[Workers] = Registry()


def work_on(field: Field) -> str:
    """What reads or writes `field` in another thread now, in words; empty when nothing does."""
    return next((told for each in WORKERS if (told := each.on(field))), "")
