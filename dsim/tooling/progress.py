"""The progress of a notebook: tqdm's bar on a terminal, one line per cell in a log.

`dsim.tooling.notebooks` calls it when cells start and end.
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

    On a terminal it redraws one line, whose clock runs during a cell. Elsewhere each cell
    prints a line when it ends, so that a log shows the time of each.

    Parameters
    ----------
    title : str
        The title, such as the notebook's name.
    total : int
        Number of cells to run.
    out : TextIO
        The output stream.
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
            # On a terminal without a size, as in some containers, tqdm draws nothing by default.
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
        """Show the label of the cell that starts."""
        self._label = label
        self._cell_began = time.perf_counter()
        self._bar.set_description_str(label)

    def finish(self, *, ok: bool = True) -> None:
        """Count the running cell as finished."""
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
