"""Each test runs its own copy of a program, and frees its fields."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

import dsim as ti
from tests.programs.loading import load

# Scripts: to collect one for its docstrings would run it.
_FOLDER = Path(__file__).parent
collect_ignore = [
    str(p.relative_to(_FOLDER)) for p in _FOLDER.rglob("*.py") if not p.name.startswith("test_")
]


@pytest.fixture
def program(monkeypatch: pytest.MonkeyPatch) -> Callable[..., ModuleType]:
    """``program("wave", real=ti.f64)`` runs ``wave.py``, in which `real` is given, and gives its names.

    A `ti.GUI` closes after three frames.
    """
    monkeypatch.setenv("DSIM_GUI_FRAMES", "3")
    return load


@pytest.fixture(autouse=True)
def _afterwards():
    yield
    ti.reset()
