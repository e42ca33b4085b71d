"""What tests see of kernels that compile on other threads."""

from __future__ import annotations

import threading
from concurrent.futures import Future

import pytest

from dsim.backends.cpu import code, compiled, images
from dsim.weak_mappings import WeakValues


def compile_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each kernel compiles in this test: else those of the same text share machine code."""
    monkeypatch.setattr(compiled, "_CODE", WeakValues())


def only_threads_compile(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever needs what was begun waits for it: else it makes what no thread has come to yet."""
    monkeypatch.setattr(code, "_awaited", Future.result)


def watch_threads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the threads that compile something for others, as it comes."""
    only_threads_compile(monkeypatch)
    threads: list[str] = []
    found = images.found

    def counting(*args):
        threads.append(threading.current_thread().name)
        return found(*args)

    monkeypatch.setattr(images, "found", counting)
    return threads


def compiler_threads() -> list[threading.Thread]:
    """Those that are alive."""
    return [t for t in threading.enumerate() if t.name.startswith("dsim-compiler")]
