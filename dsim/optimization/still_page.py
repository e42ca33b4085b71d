"""An optimisation in a page without a kernel: what is known of it when a cell has ended."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
from IPython.core.getipython import get_ipython
from IPython.display import DisplayHandle

from dsim.live.shown import PLAYER
from dsim.notebook.tape.svg import shown
from dsim.optimization.progress import NoProgress
from dsim.optimization.told import Steered, curves, notes, numbers, state

_FEW = 8  # numbers that a table has one by one


class OptimizationPage(NoProgress):
    """The display where an output embeds all that it shows; renewed after each cell.

    Another thread works. It writes nothing here: what it has reached is read when a cell has ended.
    """

    def __init__(self) -> None:
        self._steered: Steered | None = None
        self._handles: list[DisplayHandle] = []
        self._shown_in: int | None = None
        self._known: tuple[Any, ...] = ()

    def steer(self, steered: Steered) -> None:
        """Shows this one."""
        self._steered = steered

    def display(self) -> bool:
        """Displays it below the running cell, unless it is there already."""
        shell: Any = get_ipython()
        if shell is None or threading.current_thread() is not threading.main_thread():
            return self._shown_in is not None
        if self._shown_in != shell.execution_count:
            self._shown_in = shell.execution_count
            if not self._handles:
                shell.events.register("post_run_cell", self._cell_ended)
            self._handles.append(DisplayHandle())
            self._handles[-1].display({"text/plain": repr(self._steered)}, raw=True, metadata={})
            self._known = ()
        return True

    def _cell_ended(self, *_: object) -> None:
        steered = self._steered
        assert steered is not None
        known = steered.status, steered.done, steered.message
        if known != self._known:
            self._known = known
            data = {"text/plain": repr(steered), "text/html": still_page(steered)}
            for handle in self._handles:
                handle.update(data, raw=True, metadata=PLAYER)


def still_page(steered: Steered) -> str:
    """The state, the numbers, the curves and the best parameters as HTML.

    Parameters
    ----------
    steered : Steered
        An `Optimization`.
    """
    history = steered.history
    parts = [
        f"<p>{shown(state(steered))}<br>{shown(numbers(steered, history))}</p>",
        curves(history),
        _table(steered.parameters),
        notes(steered),
    ]
    return f'<div class="dsim-optimize">{"".join(parts)}</div>'


def _table(parameters: list[tuple[str, np.ndarray]]) -> str:
    if not parameters:
        return ""
    heads = "".join(f'<th scope="col">{head}</th>' for head in ("parameter", "shape", "best values"))
    rows = "".join(
        f'<tr><th scope="row">{shown(name)}</th><td>{values.shape}</td><td>{_values(values)}</td></tr>'
        for name, values in parameters
    )
    return f"<table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>"


def _values(values: np.ndarray) -> str:
    """A few numbers, or the range of many."""
    if values.size <= _FEW:
        return ", ".join(f"{value:.6g}" for value in values.ravel())
    return f"{values.min():.6g} to {values.max():.6g}, mean {values.mean():.6g}"
