"""Runs functions in several threads at once, with frequent switches between them."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def switching() -> Iterator[None]:
    """In the block, threads change places after every few instructions."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


def together(count: int, work: Callable[[int], Any]) -> list[Any]:
    """What `work` gives for 0 … `count` - 1, each in a thread; all begin at once. An error is raised here."""
    begin = threading.Barrier(count)
    results: list[Any] = [None] * count
    errors: list[BaseException] = []

    def run(n: int) -> None:
        try:
            begin.wait(60)
            results[n] = work(n)
        except BaseException as error:  # noqa: BLE001 (raised below)
            errors.append(error)

    threads = [threading.Thread(target=run, args=(n,), daemon=True) for n in range(count)]
    with switching():
        for t in threads:
            t.start()
        for t in threads:
            t.join(120)
    if errors:
        raise errors[0]
    assert not any(t.is_alive() for t in threads), "a thread waits for ever"
    return results


def aside(work: Callable[[], Any]) -> Any:
    """What `work` gives in a thread of its own, which ends before this returns."""
    return together(1, lambda _: work())[0]
