"""Between launches, asks whether the work of this thread is to end. A launch itself polls a flag of its own.

`polled` names whom to ask; recorded runs, their backward sweeps and their replays ask before each launch.
`undisturbed` is for what must not stay half done, such as putting fields back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
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


def undisturbed(acts: Sequence[Callable[[], object]]) -> None:
    """Calls each of `acts`, also when Ctrl-C is pressed meanwhile, and raises that at the end.

    One in which it came is called again: each must do the same when it is called twice. Make them before the
    ``try`` whose ``finally`` calls this: Python looks for signals after each call.
    """
    came: KeyboardInterrupt | None = None
    at = 0
    while at >= 0:
        try:
            while at < len(acts):
                acts[at]()
                at += 1
            at = -1
        except KeyboardInterrupt as stop:
            came = stop
    if came is not None:
        raise came
