"""Tests that need a program or a library of CUDA's carry ``@pytest.mark.cuda_tools("ptxas")``.

Where one that a test names is missing, the test is deselected, and the closing line counts it: the tools are
NVIDIA's, and need no GPU. `dsim doctor` says which are there.
"""

from __future__ import annotations

from functools import cache

import pytest

from dsim.backends.cuda import toolchain


@cache
def available() -> frozenset[str]:
    """The tools that are there."""
    assembler = toolchain.ptxas()
    found = {
        "libdevice": toolchain.libdevice() is not None,
        "ptxas": assembler is not None and assembler.version >= toolchain.OLDEST_PTXAS,
        "nvdisasm": toolchain.nvdisasm() is not None,
    }
    return frozenset(name for name, there in found.items() if there)


def needed(item: pytest.Item) -> set[str]:
    """The tools that a test names."""
    return {name for mark in item.iter_markers("cuda_tools") for name in mark.args}


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leaves out what cannot run here."""
    marked = {id(item): tools for item in items if (tools := needed(item))}
    if not marked:
        return
    left_out = [item for item in items if not marked.get(id(item), set()) <= available()]
    if left_out:
        gone = set(map(id, left_out))
        items[:] = [item for item in items if id(item) not in gone]
        config.hook.pytest_deselected(items=left_out)
