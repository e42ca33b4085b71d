"""How far a notebook has come: a bar that moves on a terminal, one line per cell in a log.

Not its job: running anything. `dsim.tooling.notebooks` calls it as cells start and end.
"""

from __future__ import annotations

import shutil
import threading
import time
from typing import Self, TextIO

BAR_WIDTH = 24
REFRESH_SECONDS = 0.2


class Progress:
    """Show the cells of one notebook as they run.

    On a terminal one line is drawn again and again, its clock moving while a cell runs. Elsewhere each cell
    leaves a line when it ends, so that a log shows what took how long.

    Parameters
    ----------
    title : str
        What runs, such as the notebook's name.
    total : int
        Number of cells that will run.
    out : TextIO
        Where to write.
    """

    def __init__(self, title: str, total: int, out: TextIO) -> None:
        self.title = title
        self.total = total
        self.out = out
        self.live = out.isatty()
        self.done = 0
        self.label = ""
        self._began = time.perf_counter()
        self._cell_began = self._began
        self._stopped = threading.Event()
        self._lock = threading.Lock()
        self._clock = threading.Thread(target=self._tick, daemon=True)

    def __enter__(self) -> Self:
        """Start the clock."""
        if self.live:
            self._clock.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop the clock and leave the cursor on a line of its own."""
        self._stopped.set()
        if self.live:
            self._clock.join()
            self.label = self.label if self.done < self.total else ""
            self._draw()
            self.out.write("\n")
            self.out.flush()

    def start(self, label: str) -> None:
        """Say which cell runs now."""
        with self._lock:
            self.label = label
            self._cell_began = time.perf_counter()
        self._draw()

    def finish(self, *, ok: bool = True) -> None:
        """Count the running cell as done."""
        with self._lock:
            self.done += ok
            seconds = time.perf_counter() - self._cell_began
            label = self.label
        if self.live:
            self._draw()
            return
        state = "ok" if ok else "FAILED"
        count = f"{self.done + (not ok)}/{self.total}"
        self.out.write(f"  {self.title}  {count:>7}  {seconds:7.2f} s  {state:<6}  {label}\n")
        self.out.flush()

    def _tick(self) -> None:
        while not self._stopped.wait(REFRESH_SECONDS):
            self._draw()

    def _draw(self) -> None:
        if not self.live:
            return
        with self._lock:
            seconds = time.perf_counter() - self._began
            line = bar_line(self.title, self.done, self.total, seconds, self.label)
            width = shutil.get_terminal_size().columns - 1
            self.out.write("\r" + line[:width].ljust(width))
            self.out.flush()


def bar_line(title: str, done: int, total: int, seconds: float, label: str) -> str:
    """The line that a terminal shows.

    Examples
    --------
    >>> bar_line("gravity", 3, 6, 1.25, "x = 1")
    '  gravity  [############............] 3/6     1.2 s  x = 1'
    """
    filled = BAR_WIDTH * done // total if total else BAR_WIDTH
    bar = "#" * filled + "." * (BAR_WIDTH - filled)
    return f"  {title}  [{bar}] {done}/{total}  {seconds:6.1f} s  {label}"
