"""Records which thread or task wrote a gradient or tangent, so that a tape clears only its own.

Each tape and forward mode begins a new *turn*. A field notes in which turn it was written; a turn knows
those before it in its thread. An asyncio task continues from the turn in which it was created: what was
written until then is its own, and what other tasks write from then on is not.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from threading import get_ident

from dsim.backends.locks import short_lock

_numbers = itertools.count(1)
_FIRST = short_lock()  # of two threads that begin at once, one comes first


# Its number; up to which number all turns came before it, because there was one thread; the numbers of others
# that did; the thread.
_Turn = tuple[int, int, frozenset[int], int]


_OWN = -1
_EVERYBODY = -1  # before all turns
_ENDLESS = 1 << 62  # after all turns


# The last turn of the process, and whether turns form one chain: then the common question, whether a turn is
# an earlier one, is a comparison. `_begun` writes it; numbers are never used again.
class _State:
    last = 0  # the turn that was begun last
    single = 0  # the last one of the first chain, whose thread is `first`
    first = 0
    several = False  # whether any turn does not follow the one that was begun before it


_MOST = 1000  # turns whose thread is known
_THREADS: dict[int, int] = {}  # once there are several chains: the thread of each turn
_REMEMBERED: list[Collection[int]] = []  # turns that fields will have again


_TURN: ContextVar[_Turn | None] = ContextVar("dsim_turn", default=None)


def _current() -> _Turn:
    turn = _TURN.get()
    if turn is None or turn[3] != get_ident():  # a thread may inherit another one's
        with _FIRST:
            if _State.last:
                _branched()
            else:
                _State.first = get_ident()
            turn = _begun(0, frozenset(), get_ident())
    return turn


def _begun(base: int, before: frozenset[int], thread: int) -> _Turn:
    turn = next(_numbers), base, before, thread
    _State.last = turn[0]
    _TURN.set(turn)
    if _State.several:
        _THREADS[turn[0]] = thread
        if len(_THREADS) > 2 * _MOST:
            for old in list(_THREADS)[:_MOST]:
                _THREADS.pop(old, None)
    return turn


def _branched() -> None:
    if not _State.several:
        _State.single = _State.last
    _State.several = True


def of_this_thread(number: int) -> bool:
    """Whether turn `number` was begun in this thread, perhaps in another task or a callback; else False."""
    if 0 < number <= _State.single:
        return _State.first == get_ident()
    return _THREADS.get(number) == get_ident()


def current() -> int:
    """The number of this turn, which is not 0: what is written now is noted with it."""
    turn = _TURN.get()
    return turn[0] if turn is not None and turn[3] == get_ident() else _current()[0]


def own(number: int) -> bool:
    """Whether what was written in turn `number` was written in this turn or in one before it."""
    now, base, before, _ = _current()
    if now == _State.last and not _State.several:
        return True
    return number == now or number <= base or number in before


def whose(number: int) -> int:
    """The part of a note with `number` to save with values that are restored some turns later."""
    return _OWN if number and own(number) else number


def again(kept: int) -> int:
    """The note for restored values, from the part that was saved."""
    return current() if kept == _OWN else kept


@contextmanager
def remembered(numbers: Collection[int]) -> Iterator[None]:
    """Inside it these turns are not forgotten, though no field has them: they will have them again."""
    _REMEMBERED.append(numbers)
    try:
        yield
    finally:
        _REMEMBERED.remove(numbers)


@contextmanager
def of_everybody() -> Iterator[None]:
    """What the block writes belongs to all threads and tasks, and all is its own.

    For what runs between cells, in a task of the event loop, on behalf of whoever reads its results.
    """
    kept = _TURN.set((_EVERYBODY, _ENDLESS, frozenset(), get_ident()))
    try:
        yield
    finally:
        _TURN.reset(kept)


def begin(noted: Callable[[], Iterable[int]]) -> None:
    """Begins a new turn; `noted` gives the numbers that fields have."""
    turn = _TURN.get()
    if turn is not None and turn[0] == _State.last and not _State.several and turn[3] == get_ident():
        _begun(turn[0], turn[2], turn[3])  # as most are
        return
    number, base, before, thread = _current()
    if number == _EVERYBODY:
        return
    if number != _State.last:
        _branched()
    if _State.several:
        known = set(noted()).union(*_REMEMBERED)
        _begun(base, (before | {number}) & known, thread)
    else:
        _begun(number, before, thread)


def several() -> bool:
    """Whether there has ever been a second thread or task."""
    return _State.several
