"""Tests that need a tool of CUDA's are left out where it is missing, and counted."""

from types import SimpleNamespace

import pytest

from dsim.backends.cuda import toolchain
from dsim.backends.cuda.toolchain import Tool
from tests import cuda_tools


def marked(*tools):
    """A collected test that needs these."""
    marks = [SimpleNamespace(args=tools)] if tools else []
    return SimpleNamespace(iter_markers=lambda name: marks if name == "cuda_tools" else [])


@pytest.fixture
def collected(monkeypatch):
    """Collects tests on a machine that has these tools; gives those that stay, and those that are counted."""

    def collect(there, *items):
        monkeypatch.setattr(cuda_tools, "available", lambda: frozenset(there))
        kept, counted = list(items), []

        def pytest_deselected(items):
            counted.extend(items)

        hook = SimpleNamespace(pytest_deselected=pytest_deselected)
        cuda_tools.pytest_collection_modifyitems(SimpleNamespace(hook=hook), kept)
        return kept, counted

    return collect


def test_without_any_tool(collected):
    plain, both, one = marked(), marked("ptxas", "libdevice"), marked("ptxas")
    assert collected((), both, plain, one) == ([plain], [both, one])
    assert collected(("ptxas",), both, plain, one) == ([plain, one], [both])


def test_with_all(collected):
    items = [marked("nvdisasm"), marked(), marked("libdevice")]
    assert collected(("nvdisasm", "libdevice"), *items) == (items, [])


@pytest.mark.parametrize(("version", "there"), [((13, 0), True), ((12, 8), True), ((11, 8), False)])
def test_an_old_assembler_is_none(monkeypatch, tmp_path, version, there):
    monkeypatch.setattr(toolchain, "ptxas", lambda: Tool(tmp_path, version))
    monkeypatch.setattr(toolchain, "nvdisasm", lambda: None)
    monkeypatch.setattr(toolchain, "libdevice", lambda: None)
    assert cuda_tools.available.__wrapped__() == ({"ptxas"} if there else set())
