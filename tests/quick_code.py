"""Machine code that compiles quickly, for tests of what a derivative of a derivative is, not of its code.

LLVM optimises as it does for watched kernels, and generates code at its level 0. Tests of the same programs'
first derivatives run the code that users run.
"""

from __future__ import annotations

from collections import deque
from functools import cache
from weakref import WeakValueDictionary

import llvmlite.binding as llvm
import pytest

from dsim.backends.cpu import code, compiled
from dsim.backends.cpu.code import CodeTarget, MachineCode

_linked, _code, _target = code._linked, compiled._code, code._target
# Their code is not that of other tests, which compile equal modules for speed.
_CODE: WeakValueDictionary[bytes, MachineCode] = WeakValueDictionary()
_RECENT: deque[MachineCode] = deque(maxlen=compiled._RECENT.maxlen)


@pytest.fixture
def quick_code(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is compiled during the test is compiled quickly."""

    def linked(name, text, exported, speed):
        with monkeypatch.context() as patch:
            if speed == code._QUICK:  # functions that modules share are not
                patch.setattr(code, "_target", _plain_target)
            return _linked(name, text, exported, speed)

    monkeypatch.setattr(code, "_linked", linked)
    monkeypatch.setattr(compiled, "_code", lambda emitted, quick=False: _code(emitted, True))
    monkeypatch.setattr(compiled, "_CODE", _CODE)
    monkeypatch.setattr(compiled, "_RECENT", _RECENT)


@cache
def _plain_target() -> CodeTarget:
    options = {**code.target_options(), "opt": 0}
    target = llvm.Target.from_triple(llvm.get_process_triple())
    machine = target.create_target_machine(**options)
    return CodeTarget(machine, _target().data_layout, code.described(options))
