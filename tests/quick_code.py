"""Machine code that compiles quickly, for tests of something else than the code.

LLVM translates it as it stands, at its level 0: a tenth of the time. Such tests are of what a derivative of a
derivative is, of the form for devices, or of launches, tapes and fields. Tests of the same programs' first
derivatives run the code that users run.
"""

from __future__ import annotations

from collections import deque

import pytest

from dsim.backends.cpu import compiled, images
from dsim.backends.cpu.code import MachineCode
from dsim.weak_mappings import WeakValues

# Their code is not that of other tests, which compile equal modules for speed.
_CODE: WeakValues[bytes, MachineCode] = WeakValues()
_RECENT: deque[MachineCode] = deque(maxlen=compiled._RECENT.maxlen)


@pytest.fixture
def quick_code(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is compiled during the test is compiled quickly."""
    monkeypatch.setattr(compiled, "_LEVEL", images.AS_IT_STANDS)
    monkeypatch.setattr(compiled, "_CODE", _CODE)
    monkeypatch.setattr(compiled, "_RECENT", _RECENT)
