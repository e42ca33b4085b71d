"""How far a notebook has come: tqdm's bar on a terminal, one line per cell in a log.

Not its job: running anything. `dsim.tooling.notebooks` calls it as cells start and end.
"""

from __future__ import annotations

import shutil
import threading
import time
from typing import Self, TextIO

from dsim.tooling.extras import require

REFRESH_SECONDS = 0.2
_BAR = "  [{bar:24}] {n_fmt}/{total_fmt}  {elapsed_s:6.1f} s  {desc}"  # behind the title


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
        self._bar = require("tqdm", extra="lab", purpose="to show progress").tqdm(
            total=total,
            file=out,
            disable=not out.isatty(),
            ascii=".#",
            bar_format="  " + title.replace("{", "{{").replace("}", "}}") + _BAR,
            # Where a terminal has no size, as in some containers, tqdm itself would draw nothing.
            ncols=_columns(),
            nrows=2,
            mininterval=0,
        )
        self.done = 0
        self._label = ""
        self._cell_began = time.perf_counter()
        self._stopped = threading.Event()
        self._clock = threading.Thread(target=self._tick, daemon=True)

    def __enter__(self) -> Self:
        """Start the clock."""
        self._clock.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop the clock and leave the cursor on a line of its own."""
        self._stopped.set()
        self._clock.join()
        if self.done == self.total:
            self._bar.set_description_str("", refresh=False)
        self._bar.close()

    def start(self, label: str) -> None:
        """Say which cell runs now."""
        self._label = label
        self._cell_began = time.perf_counter()
        self._bar.set_description_str(label)

    def finish(self, *, ok: bool = True) -> None:
        """Count the running cell as done."""
        self.done += ok
        self._bar.update(ok)
        if self._bar.disable:
            seconds = time.perf_counter() - self._cell_began
            state = "ok" if ok else "FAILED"
            count = f"{self.done + (not ok)}/{self.total}"
            self.out.write(f"  {self.title}  {count:>7}  {seconds:7.2f} s  {state:<6}  {self._label}\n")
            self.out.flush()

    def _tick(self) -> None:
        while not self._stopped.wait(REFRESH_SECONDS):
            self._bar.ncols = _columns()
            self._bar.refresh()


def _columns() -> int:
    return shutil.get_terminal_size().columns - 1
