"""Between launches, asks whether the work of this thread is to end. A launch itself polls a flag of its own.

`polled` names whom to ask; recorded runs, their backward sweeps and their replays ask before each launch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_ASKED: ContextVar[Callable[[], None] | None] = ContextVar("dsim_interruption", default=None)


@contextmanager
def polled(asked: Callable[[], None]) -> Iterator[None]:
    """In the block, `asked` is called before each launch; it raises what ends the work, once."""
    token = _ASKED.set(asked)
    try:
        yield
    finally:
        _ASKED.reset(token)


def poll() -> None:
    """Asks."""
    asked = _ASKED.get()
    if asked is not None:
        asked()


def is_polled() -> bool:
    """Whether there is anybody to ask."""
    return _ASKED.get() is not None
