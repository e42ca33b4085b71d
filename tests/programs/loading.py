"""Loads the programs of these folders, which are scripts: each load runs one anew."""

from __future__ import annotations

import importlib.util
import itertools
from pathlib import Path
from types import ModuleType

_count = itertools.count()


def load(name: str, **given: object) -> ModuleType:
    """Runs a script and gives its names; `given` are names that it finds when it begins."""
    (path,) = Path(__file__).parent.glob(f"*/{name}.py")
    spec = importlib.util.spec_from_file_location(f"{name}_{next(_count)}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    vars(module).update(given)
    spec.loader.exec_module(module)
    return module
