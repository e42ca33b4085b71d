"""Where the work of a thread may end early: at launches that poll, and never while fields are put back.

`polled` names whom to ask; recorded runs, their backward sweeps and their replays ask before each launch. A
launch itself polls a flag of its own.

Python handles a signal, Ctrl-C for one, between any two instructions, also between those that put fields
back. Inside of `held` the main thread notes signals only. Their handlers are called at `poll`, where nothing
is half done, at the end, and at once in what `listening` calls: a function of the user's. A launch under way
stops.

`undisturbed` is for what must not stay half done elsewhere.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from types import FrameType, TracebackType
from typing import Any

from dsim.backends.cpu.stop import stopping, stops

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
    """Asks, and handles signals that were held."""
    heard()
    asked = _ASKED.get()
    if asked is not None:
        asked()


def is_polled() -> bool:
    """Whether there is anybody to ask."""
    return _ASKED.get() is not None


# ------------------------------------------------------------------ signals

_SIGNALS = (signal.SIGINT, signal.SIGALRM)  # whose handlers may raise: Ctrl-C, the stop button, time limits
_Handler = Callable[[int, FrameType | None], Any]


class _Held(threading.local):
    """What a thread does with signals: notes those that come, or hears them, where the user's code runs."""

    listens = False
    raises = False  # `KeyboardInterrupt`, whatever the handler of Ctrl-C does

    def __init__(self) -> None:
        self.before: dict[int, _Handler] = {}
        self.came: list[tuple[int, FrameType | None]] = []


_HELD = _Held()


def _note(number: int, frame: FrameType | None) -> None:
    """Handles a signal at once where the user's code runs, else notes it."""
    if _HELD.listens:
        _handle(number, frame)
    else:
        _HELD.came.append((number, frame))


def _handle(number: int, frame: FrameType | None) -> None:
    if _HELD.raises and number == signal.SIGINT:
        raise KeyboardInterrupt
    _HELD.before[number](number, frame)


def _note_beside_a_launch(number: int, frame: FrameType | None) -> None:
    """The same, for handlers under which no launch stops at the first signal."""
    _note(number, frame)


stops(_note)


class held:  # noqa: N801 (read as a function)
    """Inside it the main thread notes signals; handlers of those that came are called at the end.

    Parameters
    ----------
    raises : bool
        Whether Ctrl-C raises `KeyboardInterrupt` there and at `heard`, and nowhere else, whatever its handler
        does: that of an event loop cancels a task.
    """

    def __init__(self, raises: bool = False) -> None:
        self._raises = raises

    def __enter__(self) -> None:
        self._listened, _HELD.listens = _HELD.listens, False
        self._mine: dict[int, _Handler] = {}
        if threading.current_thread() is not threading.main_thread() or any(map(_is_held, _SIGNALS)):
            return
        _HELD.came, _HELD.raises = [], self._raises
        try:
            for number in _SIGNALS:
                handler = signal.getsignal(number)
                if callable(handler) and not isinstance(handler, signal.Handlers):
                    self._mine[number] = _HELD.before[number] = handler
                    signal.signal(number, _note if stopping(handler) else _note_beside_a_launch)
        except BaseException:
            self._put_back()
            raise

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._mine:
            self._put_back()
            came, _HELD.came = _HELD.came, []
            stopped = kind is not None and (self._raises or issubclass(kind, KeyboardInterrupt))
            for number, frame in () if stopped else came:
                _handle(number, frame)
        _HELD.listens = self._listened
        if self._listened:
            heard()

    def _put_back(self) -> None:
        """Sets the handlers that were there, but where the user's code has set others meanwhile."""
        try:
            for number, handler in reversed(self._mine.items()):
                if _is_held(number):
                    signal.signal(number, handler)
        except BaseException:  # of a handler that is back already
            self._put_back()
            raise


def _is_held(number: int) -> bool:
    return signal.getsignal(number) in (_note, _note_beside_a_launch)


def heard() -> None:
    """Calls the handlers of the signals that were noted: here nothing is half done.

    Raises
    ------
    KeyboardInterrupt
        When Ctrl-C came since `held`, by Python's own handler or with ``held(raises=True)``.
    """
    while _HELD.came:
        _handle(*_HELD.came.pop(0))


def listening(function: Callable[..., Any], *args: Any, **named: Any) -> Any:
    """Calls what a user wrote: in it, signals are handled at once."""
    heard()
    before, _HELD.listens = _HELD.listens, not _HELD.raises
    try:
        return function(*args, **named)
    finally:
        _HELD.listens = before  # no call: Python would look for signals after it


# ------------------------------------------------------------------ elsewhere


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
