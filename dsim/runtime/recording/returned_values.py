"""Whether Python does anything with what a kernel returns: where it does not, no derivative is cut there.

The bytecode of the calls that are under way tells it: a statement that is a call drops its value.
"""

from __future__ import annotations

import sys
import types
from functools import lru_cache
from opcode import opmap

from dsim.diagnostics.places import own_frame

_CACHE, _DROPS, _RETURNS = opmap.get("CACHE", 0), opmap["POP_TOP"], opmap["RETURN_VALUE"]


def result_used() -> bool:
    """Whether the result of the launch that is under way goes to anything; yes where that cannot be seen.

    dsim's own functions pass on what they get, or drop it.
    """
    frame: types.FrameType | None = sys._getframe(1)
    while frame is not None:
        after = _after(frame.f_code, frame.f_lasti)
        if after == _DROPS:
            return False
        if after != _RETURNS and not own_frame(frame):
            return True
        frame = frame.f_back
    return False


@lru_cache(maxsize=256)
def _after(code: types.CodeType, at: int) -> int:
    """What a function does after the instruction at `at`."""
    instructions = code.co_code
    at += 2
    while instructions[at] == _CACHE:
        at += 2
    return instructions[at]
