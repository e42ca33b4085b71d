"""The order of the corpus: all tests of a program follow one another, and share what they compile."""

from __future__ import annotations

import pytest

from tests.corpus.program import PROGRAMS


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    at = {name: n for n, name in enumerate(PROGRAMS)}
    places = [n for n, item in enumerate(items) if item.nodeid.startswith("tests/corpus/")]
    ordered = sorted((items[n] for n in places), key=lambda item: at.get(_program(item), len(at)))
    for n, item in zip(places, ordered, strict=True):
        items[n] = item


def _program(item: pytest.Item) -> str | None:
    """The name of the program that a test is about."""
    call = getattr(item, "callspec", None)
    return None if call is None else call.params.get("name")
