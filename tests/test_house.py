"""Naming rules of the code: each public class name occurs once."""

from __future__ import annotations

import ast
from collections import Counter
from pathlib import Path

import dsim


def test_public_classes_have_names_of_their_own():
    """A name that is searched for leads to one class."""
    names: Counter[str] = Counter()
    for file in Path(dsim.__file__).parent.rglob("*.py"):
        body = ast.parse(file.read_text()).body
        names.update(s.name for s in body if isinstance(s, ast.ClassDef) and s.name[0] != "_")
    assert not [name for name, count in names.items() if count > 1]
