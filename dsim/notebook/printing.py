"""In a notebook's page, caps the output of the kernels of a cell, and lets a cell be stopped in a launch.

In a terminal and in scripts everything is printed.
"""

from __future__ import annotations

from typing import Any

from dsim.backends.cpu.stop import listen_in_cells
from dsim.backends.prints import PRINTS


def install(shell: Any) -> None:
    """From the next cell on."""
    shell.events.register("pre_run_cell", listen_in_cells)
    if getattr(shell, "kernel", None) is not None:
        shell.events.register("pre_run_cell", _begin)
        shell.events.register("post_run_cell", _end)


def remove(shell: Any) -> None:
    """Removes the cap."""
    for event, callback in (("pre_run_cell", _begin), ("post_run_cell", _end)):
        if callback in shell.events.callbacks[event]:
            shell.events.unregister(event, callback)


def _begin(_: Any) -> None:
    PRINTS.begin()


def _end(_: Any) -> None:
    PRINTS.end()
