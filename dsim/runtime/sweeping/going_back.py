"""Who goes backwards: a tape does so once at a time, and while it does its gradients are its own.

In its block's backward pass a tape is still at work (stack.py) and has its claims (claims.py). In a later one
it takes both up again: a tape in another thread may not use these gradients, and one in a function under
`grad_for` does not clear them.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

from dsim.backends.locks import short_lock
from dsim.diagnostics import Diagnostic, GradientError
from dsim.runtime.launching.contexts import OPENED
from dsim.runtime.recording.claims import claim
from dsim.runtime.recording.record import TapeRecord
from dsim.runtime.state import turns
from dsim.runtime.state.interruption import undisturbed
from dsim.runtime.state.stack import leave, left, working

_FIRST = short_lock()  # of two threads that begin at once, one comes first


@contextmanager
def goes_back_again(tape: TapeRecord) -> Iterator[None]:
    """Around a backward pass after that of the block.

    Raises
    ------
    GradientError
        When the tape goes backwards already, or another thread or task works with a gradient of its own.
    """
    at_work = tape in working()  # it is checked at the end of its block
    me = object()
    let_go = [partial(_let_go, tape, me, at_work)]
    try:
        with _FIRST:
            if tape.goes_back is not None:
                raise GradientError(_twice())
            tape.goes_back = me
        if not at_work:
            _take_up(tape)
        yield
    finally:
        undisturbed(let_go)


def _take_up(tape: TapeRecord) -> None:
    turns.current()  # a thread that records nothing is one more, too
    OPENED[tape] = None
    leave(tape)
    claim(tape, tuple(tape.claimed), "bar")


def _let_go(tape: TapeRecord, who: object, at_work: bool) -> None:
    if tape.goes_back is who and not at_work:
        OPENED.pop(tape, None)
        left(tape)
    if tape.goes_back is who:
        tape.goes_back = None


def _twice() -> Diagnostic:
    message = "this tape is going backwards, in another thread or around what asks for this"
    advice = "one after the other: it restores values in its fields on the way"
    return Diagnostic("not-differentiable", message, help=advice)
