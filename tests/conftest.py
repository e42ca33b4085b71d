"""What all tests share: golden texts, random examples that are the same in every run, compiled kernels."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import settings as examples

from dsim.runtime import settings

examples.register_profile("steady", derandomize=True, database=None)
examples.load_profile("steady")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-golden", action="store_true", help="write the golden texts instead of comparing"
    )


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[..., None]:
    """``golden(text)`` compares with ``golden/<test file>/<test>.txt`` beside the test; ``golden(text, "b")``
    with a second one of the same test."""
    node = request.node
    folder = Path(node.path).parent / "golden" / Path(node.path).stem.removeprefix("test_")
    name = node.name.removeprefix("test_").replace("[", "-").replace("]", "").replace("/", "_")

    def compare(text: str, part: str = "") -> None:
        path = folder / f"{name}{'-' if part else ''}{part}.txt"
        if request.config.getoption("--update-golden"):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text.rstrip("\n") + "\n", encoding="utf-8")
            return
        assert path.exists(), f"no golden text {path}: run with --update-golden and read what it writes"
        assert text.rstrip("\n") + "\n" == path.read_text(encoding="utf-8")

    return compare


@pytest.fixture(autouse=True)
def _compiled_again() -> Iterator[None]:
    """Leaves the reference backend after a test that chose it; ``init()`` keeps it for the next one."""
    yield
    if settings.current().backend != "cpu":
        settings.change(replace(settings.current(), backend="cpu"))
