"""OptimizationProgress of an optimisation in a script: a bar by tqdm, or plain lines."""

from __future__ import annotations

import sys
import time
from importlib import import_module
from typing import Any, Protocol

_BETWEEN = 2.0  # seconds between two plain lines


class OptimizationProgress(Protocol):
    """What is told of the progress, by the thread that works."""

    def begin(self, done: int, steps: int) -> None:
        """It begins, or goes on, with so many steps done of all."""
        ...

    def note(self, line: str) -> None:
        """Something that is worth a line, before it begins."""
        ...

    def moved(self, done: int, loss: float, gradient_norm: float) -> None:
        """A step has ended."""
        ...

    def changed(self) -> None:
        """It pauses, goes on, or has ended."""
        ...

    def end(self) -> None:
        """It has ended."""
        ...

    def display(self) -> bool:
        """Shows itself below the cell that is running, unless it is there; whether it can."""
        ...


class NoProgress:
    """Shows nothing."""

    def begin(self, done: int, steps: int) -> None:
        """Nothing."""

    def note(self, line: str) -> None:
        """Nothing."""

    def moved(self, done: int, loss: float, gradient_norm: float) -> None:
        """Nothing."""

    def changed(self) -> None:
        """Nothing."""

    def end(self) -> None:
        """Nothing."""

    def display(self) -> bool:
        """It cannot."""
        return False


class ProgressBar(NoProgress):
    """A bar by tqdm."""

    def __init__(self, bars: Any) -> None:
        self._bars = bars
        self._bar: Any = None

    def begin(self, done: int, steps: int) -> None:
        """Draws it."""
        self._bar = self._bars(total=steps, initial=done, desc="optimize", unit="step")

    def note(self, line: str) -> None:
        """Writes it above the bars."""
        self._bars.write(f"optimize: {line}", file=sys.stderr)

    def moved(self, done: int, loss: float, gradient_norm: float) -> None:
        """Moves it."""
        self._bar.set_postfix_str(_numbers(loss, gradient_norm), refresh=False)
        self._bar.update(done - self._bar.n)

    def end(self) -> None:
        """Leaves it as it is."""
        self._bar.close()


class ProgressLines(NoProgress):
    """A line every few seconds, and one at the end."""

    def __init__(self) -> None:
        self._steps = 0
        self._last, self._said = "", 0.0

    def begin(self, done: int, steps: int) -> None:
        """Nothing yet."""
        self._steps, self._said, self._last = steps, time.monotonic(), ""

    def note(self, line: str) -> None:
        """Writes it."""
        print(f"optimize: {line}", file=sys.stderr)  # noqa: T201 (as the last line)

    def moved(self, done: int, loss: float, gradient_norm: float) -> None:
        """Writes a line, if the last one is some time ago."""
        self._last = f"optimize: {done:,} of {self._steps:,} steps, {_numbers(loss, gradient_norm)}"
        if time.monotonic() - self._said > _BETWEEN:
            self.end()
            self._said = time.monotonic()

    def end(self) -> None:
        """Writes the last line."""
        if self._last:
            print(self._last, file=sys.stderr)  # noqa: T201 (a person has asked for it)
            self._last = ""


def in_a_script() -> OptimizationProgress:
    """A bar if tqdm is installed, otherwise lines."""
    try:
        return ProgressBar(import_module("tqdm").tqdm)
    except ImportError:
        return ProgressLines()


def _numbers(loss: float, gradient_norm: float) -> str:
    return f"loss {loss:.6g}, gradient {gradient_norm:.3g}"
