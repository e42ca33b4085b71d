"""Those who work on fields in threads of their own: whoever else would use these fields asks first.

The optimisations of a process are one; the runtime knows nothing of them.
"""

from __future__ import annotations

from typing import Any, Protocol

from dsim.runtime.state.registry import Registry


class Workers(Protocol):
    """Who knows of work in threads."""

    def on(self, field: Any) -> str:
        """What works on `field` now, in another thread, in words; empty when nothing does."""
        ...


WORKERS: Registry[Workers] = Registry()


def work_on(field: Any) -> str:
    """What reads or writes `field` in another thread now, in words; empty when nothing does."""
    return next((told for each in WORKERS if (told := each.on(field))), "")
