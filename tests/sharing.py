"""Distributes the tests of `make test` among processes, as `pytest -n 2` does too.

A process takes whole files: what the tests of a file compile together is compiled once, and the cells of a
notebook run in order. Two folders count as one file each: the tests of the browser share a server, those of
the corpus share what they compile of its programs. What takes long begins first: the folders of few long
tests, then the files with the most tests.

Half of the time the browser's tests wait for it. So there is one process more than there are cores, and all
but that of the browser yield to others: what it waits for is not kept waiting.
"""

from __future__ import annotations

import os
from collections import Counter
from types import SimpleNamespace
from typing import Any

import pytest

from tests.units import BROWSER, CORPUS, unit

# Folders whose tests take long, each or together: a file of few of them that began last would run alone.
_LONG = (
    BROWSER,
    CORPUS,
    "tests/fuzz/",
    "tests/passes/saving/",
    "tests/programs/",
    "tests/docs/",
    "notebooks/",
)


_YIELDING = 10  # how nice the other processes are

# Idle threads would turn in circles and keep a core from other processes: those of parallel loops sleep, and
# BLAS, whose matrices are small in tests, has none.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    from xdist.scheduler import LoadFileScheduling  # only where it is installed

    class Scheduling(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return unit(nodeid)

    config.option.loadscopereorder = False  # the order is that of the workers
    return Scheduling(config, log)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """For `-n logical`."""
    return (os.cpu_count() or 1) + 1


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """A process that begins to test something else than the browser yields from then on."""
    worker = hasattr(item.config, "workerinput") and hasattr(os, "nice")
    if worker and os.nice(0) == 0 and not item.nodeid.startswith(BROWSER):
        os.nice(_YIELDING)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if hasattr(config, "workerinput"):
        tests = Counter(unit(item.nodeid) for item in items)
        items.sort(key=lambda item: (not item.nodeid.startswith(_LONG), -tests[unit(item.nodeid)]))


def pytest_deselected(items: list[pytest.Item]) -> None:
    """Workers tell how many tests `-m` and `-k` left out: by itself the closing line would not count them."""
    output = getattr(items[0].config, "workeroutput", None) if items else None
    if output is not None:
        output["deselected"] = output.get("deselected", 0) + len(items)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any, error: object) -> None:
    """All workers collect the same tests: the first one's number counts."""
    number = getattr(node, "workeroutput", {}).get("deselected", 0)
    reporter = node.config.pluginmanager.getplugin("terminalreporter")
    if reporter is not None and number:
        reporter.stats.setdefault("deselected", [SimpleNamespace()] * number)
