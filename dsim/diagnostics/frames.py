"""Removes dsim's frames from tracebacks, so that they end in the user's code.

`outermost` decorates public functions. Where a wrapper would cost too much, the function itself calls
`trimmed` in an ``except``. With ``DSIM_FRAMES=1`` in the environment all frames are kept.
"""

from __future__ import annotations

import contextlib
import os
import types
from collections.abc import Callable
from functools import WRAPPER_ASSIGNMENTS, update_wrapper
from opcode import opmap
from typing import Any, ParamSpec, TypeVar, cast

from dsim.diagnostics.errors import DsimError
from dsim.diagnostics.places import LIBRARIES, own_frame

P = ParamSpec("P")
R = TypeVar("R")

_ALL = os.environ.get("DSIM_FRAMES", "") not in ("", "0")
_RAISE = opmap["RAISE_VARARGS"]
_OF_BUGS = (AssertionError, NotImplementedError)
_MEANT = ("builtins", "dsim")  # whose classes are raised on purpose


def outermost(function: Callable[P, R]) -> Callable[P, R]:
    """Decorator: removes dsim's frames from the errors that `function` raises."""
    trim = trimmed

    def called(*args: Any, **named: Any) -> Any:
        try:
            return function(*args, **named)
        except BaseException as error:
            trim(error)
            raise

    # With the globals of `function`, by which doctest finds the module of its examples.
    scope = cast("types.FunctionType", function).__globals__
    made = types.FunctionType(called.__code__, scope, function.__name__, None, called.__closure__)
    return update_wrapper(cast("Any", made), function, WRAPPER_ASSIGNMENTS)


def trimmed(error: BaseException) -> None:
    """Removes dsim's frames from the tracebacks of `error` and of its causes, if it was raised on purpose.

    An internal error of dsim keeps them.
    """
    if _ALL or not _meant(error):
        return
    seen: set[int] = set()
    now: BaseException | None = error
    while now is not None and id(now) not in seen:
        seen.add(id(now))
        now.__context__ = _foreign(now.__context__)
        now.__traceback__ = _without_own(now.__traceback__)
        now = now.__cause__ or now.__context__


def _meant(error: BaseException) -> bool:
    """Whether `error` was raised on purpose: by a ``raise`` in dsim, the user's code, or a wrong call."""
    if isinstance(error, DsimError | Warning | KeyboardInterrupt):
        return True
    last = error.__traceback__
    while last is not None and last.tb_next is not None:
        last = last.tb_next
    if last is None:
        return False
    if not own_frame(last.tb_frame):
        return not last.tb_frame.f_code.co_filename.startswith(LIBRARIES)
    if _called_wrongly(error, last.tb_frame):
        return True
    known = type(error).__module__.partition(".")[0] in _MEANT and not isinstance(error, _OF_BUGS)
    return known and last.tb_frame.f_code.co_code[last.tb_lasti] == _RAISE


def _called_wrongly(error: BaseException, last: types.FrameType) -> bool:
    """Whether the user's arguments do not fit the parameters of a public function: it never began to run."""
    wrapper = last.f_code.co_filename == __file__ and last.f_code.co_name == "called"
    return wrapper and type(error) is TypeError and last.f_back is not None and not own_frame(last.f_back)


def _foreign(error: BaseException | None) -> BaseException | None:
    """`error` or its cause, unless dsim raised and caught it internally."""
    while error is not None and error.__traceback__ is not None and own_frame(error.__traceback__.tb_frame):
        error = error.__context__
    return error


def _without_own(trace: types.TracebackType | None) -> types.TracebackType | None:
    kept: list[types.TracebackType] = []
    while trace is not None:
        # dsim's context managers are between its frames and the person's, or the other way round.
        if not own_frame(trace.tb_frame) and trace.tb_frame.f_code.co_filename != contextlib.__file__:
            kept.append(trace)
        trace = trace.tb_next
    made: types.TracebackType | None = None
    for link in reversed(kept):
        # An instruction without a line has none, where Ctrl-C may have come.
        line = -1 if link.tb_lineno is None else link.tb_lineno
        made = types.TracebackType(made, link.tb_frame, link.tb_lasti, line)
    return made
