"""The differentiating contexts that are open where this runs, innermost last.

Each launch and each write from Python goes to the innermost context, which
passes the result on to the next outer one; with none open it runs directly. Tapes inside
forward modes, forward modes inside tapes and tapes inside tapes are right because each context handles
all events alike, whether they come from the user or an inner context.

Each thread and each task of asyncio has contexts of its own. A task begins with those that were open where
it was made, and sees them until they end.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Protocol


class Explanation(Protocol):
    """The explanation of gradients or tangents that are zero."""

    def __call__(self, field: Any, /) -> None:
        """Warns why `field` is zero, if that is known, and was not told."""
        ...

    def told(self, field: Any, /) -> None:
        """Notes that `field` is explained."""
        ...


# A context that ended elsewhere may still be in it: it passes everything on.
STACK: ContextVar[tuple[Any, ...]] = ContextVar("dsim_contexts", default=())
# Those of this thread or task that see nothing of what happens here: set aside while they are open, and at
# work after their block, running backwards. `set_aside` and `left` take them out again.
_ASIDE: ContextVar[tuple[Any, ...]] = ContextVar("dsim_contexts_aside", default=())
_WORKING: ContextVar[tuple[Any, ...]] = ContextVar("dsim_contexts_working", default=())
# Who explains zero gradients and tangents here: the last tape or forward mode of this thread or task, until
# the next one begins.
_EXPLAIN: dict[str, ContextVar[Explanation | None]] = {
    last: ContextVar(f"dsim_explains_{last}", default=None) for last in ("bar", "dot")
}


def opened() -> tuple[Any, ...]:
    """The open contexts, innermost last."""
    found = STACK.get()
    if found and not all(c.is_open for c in found):
        found = tuple(c for c in found if c.is_open)
        STACK.set(found)
    return found


def explanation(last: str) -> Explanation | None:
    """The function that explains why a gradient (``bar``) or tangent (``dot``) is zero."""
    who = _EXPLAIN.get(last)
    return None if who is None else who.get()


def explain(last: str, who: Explanation | None) -> None:
    """Sets the function that explains why a gradient or tangent is zero."""
    _EXPLAIN[last].set(who)


@contextmanager
def set_aside() -> Iterator[bool]:
    """Inside it no context is open; returns whether there were any."""
    before, aside, working = opened(), _ASIDE.get(), _WORKING.get()
    STACK.set(())
    _ASIDE.set((*aside, *working, *before))
    _WORKING.set(())
    try:
        yield bool(before)
    finally:
        STACK.set(before)
        _ASIDE.set(aside)
        _WORKING.set(working)


@contextmanager
def outside(context: Any) -> Iterator[None]:
    """Inside it only those contexts are open that are around `context`."""
    before, aside = STACK.get(), _ASIDE.get()
    place = before.index(context)
    STACK.set(before[:place])
    _ASIDE.set((*aside, *before[place:]))
    try:
        yield
    finally:
        STACK.set(before)
        _ASIDE.set(aside)


def leave(context: Any) -> None:
    """Notes that `context`, which is no longer open, is still at work: a tape going backwards."""
    _WORKING.set((*_WORKING.get(), context))


def left(context: Any) -> None:
    """Notes that it has done its work."""
    for contexts in (_WORKING, _ASIDE):
        found = contexts.get()
        if context in found:
            contexts.set(tuple([c for c in found if c is not context]) if len(found) > 1 else ())


def working() -> tuple[Any, ...]:
    """Those at work around what happens here: it is in a function under `grad_for`, or a signal handler."""
    return _WORKING.get()


def is_aside(context: Any) -> bool:
    """Whether `context` is open here and set aside, or at work around what happens here."""
    return context in _ASIDE.get() or context in _WORKING.get()
