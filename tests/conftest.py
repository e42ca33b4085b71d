"""Shared fixtures: golden texts, random examples with fixed seeds, settings restored after each test."""

from __future__ import annotations

import gc
import os
import signal
from collections import Counter
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from _pytest.doctest import DoctestModule
from hypothesis import settings as examples

from dsim.backends.cpu import disk_cache
from dsim.runtime.launching.forms import FORMS
from dsim.runtime.state import settings
from tests.units import unit

pytest_plugins = [
    "tests.corpus.summary",
    "tests.cuda_tools",
    "tests.kernels.plugin",
    "tests.quick_code",
    "tests.sharing",
]

_NEW_OBJECTS = 200_000  # between collections of the youngest generation
MORE_FORMS = 1000  # kernels and their derivatives that tests may leave before garbage is collected

# The machine code of this checkout's tests, for all processes and later runs.
_CODE = Path(__file__).parents[1] / "build" / "tests-code"

examples.register_profile("steady", derandomize=True, database=None)
examples.load_profile("steady")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-golden", action="store_true", help="write the golden texts instead of comparing"
    )


def pytest_configure() -> None:
    """Tests neither read the user's machine code nor add to it."""
    os.environ[disk_cache.VARIABLE] = str(_CODE)


def pytest_sessionstart() -> None:
    """A shell starts what runs in its background with Ctrl-C ignored, and tests press it."""
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Modules and collected tests stay: no collection in between looks at half a million objects of them."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


@pytest.hookimpl(wrapper=True)
def pytest_collect_file() -> Generator[None, list[pytest.Collector], list[pytest.Collector]]:
    """Tests have no examples in their docstrings, where `--doctest-modules` would look at every function."""
    found = yield
    return [one for one in found if not isinstance(one, DoctestModule)]


def pytest_collection_finish() -> None:
    """Nor does any collection later look at them.

    Python would collect after every 700 new objects: a kernel that is compiled makes thousands.
    """
    gc.set_threshold(_NEW_OBJECTS)
    _set_aside()


def _set_aside() -> None:
    """Frees garbage in cycles, and takes what is alive from the collections that tests ask for."""
    gc.collect()
    gc.freeze()


_ALIVE = Counter(forms=0)  # after the last collection of `pytest_runtest_teardown`


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """Kernels of earlier tests, with their fields, stay in reference cycles: what looks at all slows down."""
    if nextitem is None or unit(nextitem.nodeid) != unit(item.nodeid):
        _set_aside()  # not what the next test shares: it would never be freed
    elif len(FORMS) > _ALIVE["forms"] + MORE_FORMS:
        gc.collect()
    else:
        return
    _ALIVE["forms"] = len(FORMS)


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


@contextmanager
def _settings_put_back() -> Iterator[None]:
    before, kept = settings.current(), disk_cache.choice()
    yield
    disk_cache.choose(kept)
    if settings.current() != before:
        settings.change(before)


@pytest.fixture(autouse=True, scope="module")
def _settings_of_a_file() -> Iterator[None]:
    """What a file's own fixtures choose does not outlast it."""
    with _settings_put_back():
        yield


@pytest.fixture(autouse=True)
def _settings_of_a_test() -> Iterator[None]:
    """What a test chooses does not outlast it: ``init()`` would keep it for the next one."""
    with _settings_put_back():
        yield
