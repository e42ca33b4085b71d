"""Views in front ends without a browser."""

from __future__ import annotations

import comm
import pytest

from tests.live.front_end import Wire


@pytest.fixture
def wired(monkeypatch: pytest.MonkeyPatch) -> None:
    """Widgets talk to a `Wire`."""
    monkeypatch.setattr(comm, "create_comm", Wire)
