"""Whether Python does anything with what a kernel returns: where it does not, no derivative is cut there.

The bytecode of the calls that are under way tells it: a statement that is a call drops its value.
"""

from __future__ import annotations

import sys
import types
from opcode import opmap

from dsim.diagnostics.places import own_frame

_CACHE, _DROPS, _RETURNS = opmap.get("CACHE", 0), opmap["POP_TOP"], opmap["RETURN_VALUE"]
_GONE_ON, _DROPPED, _USED = range(3)
_MOST = 4096  # calls in a program that are remembered

_Call = tuple[int, int]  # a code object, which is kept alive, and the place of an instruction in it
_CALLS: dict[_Call, tuple[types.CodeType, int]] = {}


def result_used() -> bool:
    """Whether the result of the launch that is under way goes to anything; yes where that cannot be seen.

    dsim's own functions pass on what they get, or drop it.
    """
    frame: types.FrameType | None = sys._getframe(1)
    while frame is not None:
        known = _CALLS.get((id(frame.f_code), frame.f_lasti))
        fate = _fate(frame) if known is None else known[1]
        if fate != _GONE_ON:
            return fate == _USED
        frame = frame.f_back
    return False


def _fate(frame: types.FrameType) -> int:
    """What becomes of the result of the call that `frame` makes."""
    code, at = frame.f_code, frame.f_lasti
    after = _after(code.co_code, at)
    fate = _GONE_ON if after == _RETURNS or own_frame(frame) else _USED
    fate = _DROPPED if after == _DROPS else fate
    if len(_CALLS) >= _MOST:
        _CALLS.clear()
    _CALLS[id(code), at] = code, fate
    return fate


def _after(instructions: bytes, at: int) -> int:
    """What a function does after the instruction at `at`."""
    at += 2
    while instructions[at] == _CACHE:
        at += 2
    return instructions[at]
