"""The display of an optimisation in a notebook: progress, curves, and buttons that work while it runs.

The thread that works writes into the widgets, at most ten times a second. Clicks arrive in the main thread,
or in a thread of the kernel where the front end has one for them.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Sequence

import ipywidgets as widgets

from dsim.live.lifetime import close_tree, outputs
from dsim.live.subshells import hear_while_running
from dsim.notebook.tape.svg import shown
from dsim.notebook.widget_column import WidgetColumn
from dsim.optimization.told import Steered, curves, notes, numbers, state

_EVERY = 0.1  # seconds
# When all is sent once more: pauses in seconds, from what may coincide with the opening of a notebook on. The
# front end then asks for the state of all widgets, and may set what it gets after newer updates.
_AGAIN = (1.0, 3.0, 9.0)
_GONE = 2.0  # seconds without an output until the work stops: a cell that is moved loses its own for a moment


class OptimizationPanel:
    """The display below a cell; a `OptimizationProgress`.

    Attributes
    ----------
    widget : Widget
        What is displayed.
    pause, stop, resume : Button
        The buttons.
    bar : IntProgress
        How far it is.
    state, said : HTML
        The status, which screen readers read when it changes, and the numbers.
    """

    def __init__(self) -> None:
        self._steered: Steered | None = None
        self._steps = 0
        self._shown_in: int | None = None
        self._drawn = 0.0
        self._later: threading.Timer | None = None
        self._lock = threading.RLock()
        self._abandoned = False  # no output shows it, while it runs
        self._again: threading.Timer | None = None
        self._leaving: threading.Timer | None = None
        self._was_shown = False
        self._build()

    def _build(self) -> None:
        self.pause = _button("Pause", "pause", "Pause the optimisation before its next evaluation")
        self.stop = _button("Stop", "stop", "Stop the optimisation now, and keep the best parameters")
        self.resume = _button("Resume", "play", "Resume the optimisation")
        self.bar = widgets.IntProgress(0, 0, 1, description="steps", layout=widgets.Layout(width="300px"))
        self.state, self.said, self.curves, self.notes = (widgets.HTML() for _ in range(4))
        row = widgets.HBox(
            [self.bar, self.pause, self.stop, self.resume],
            layout=widgets.Layout(flex_flow="row wrap", align_items="center"),
        )
        self.widget = WidgetColumn([row, self.state, self.said, self.curves, self.notes])
        self.pause.on_click(lambda _: self._asked("pause"))
        self.stop.on_click(lambda _: self._asked("stop"))
        self.resume.on_click(lambda _: self._asked("resume"))
        outputs.own(self.widget, self._unshown)
        self.widget.observe(self._counted, ["_view_count", "comm"])

    def _counted(self, _: object) -> None:
        """Stops the work some time after its last output is removed, since nobody could stop it any more."""
        with self._lock:
            self._was_shown = self._was_shown or bool(self.widget._view_count)
            if self._leaving is not None:
                self._leaving.cancel()
                self._leaving = None
            if self._gone() and self._works():
                self._leaving = threading.Timer(_GONE, self._left)
                self._leaving.daemon = True
                self._leaving.start()

    def _left(self) -> None:
        if self._steered is not None and self._gone():
            self._steered.stop(wait=False, why="its output has been removed")

    def _gone(self) -> bool:
        """Whether outputs that have shown it are removed: a page may take long to show the first one."""
        return self.widget.comm is None or (self._was_shown and not self.widget._view_count)

    def _works(self) -> bool:
        return self._steered is not None and self._steered.status in ("running", "paused")

    def _unshown(self) -> None:
        """Gives up the widgets, which no output shows any more; not before the end of the work."""
        with self._lock:
            self._abandoned = self._works()
            if not self._abandoned:
                close_tree(self.widget)
                self._shown_in = None

    def steer(self, steered: Steered) -> None:
        """Shows this one, and steers it."""
        self._steered, self._steps = steered, steered.steps
        self.draw()

    def _asked(self, wish: str) -> None:
        steered = self._steered
        if steered is None:
            return
        if wish == "pause" and steered.status == "running":
            steered.pause()
        elif wish == "stop":
            steered.stop(wait=False)
        elif wish == "resume" and not (steered.status == "running" and not steered.pending):
            more = self._steps if steered.done >= steered.steps else None
            steered.resume(more)

    # -- what the optimisation tells

    def begin(self, done: int, steps: int) -> None:
        """It begins."""
        self.draw()
        self._send_again()

    def note(self, line: str) -> None:
        """It stands below the curves."""
        self.draw()

    def moved(self, done: int, loss: float, gradient_norm: float) -> None:
        """A step has ended."""
        if time.monotonic() - self._drawn > _EVERY:
            self.draw()
        elif self._later is None:  # the next step may take long
            self._later = threading.Timer(_EVERY, self._draw_later)
            self._later.daemon = True
            self._later.start()

    def _draw_later(self) -> None:
        self._later = None
        self.draw()

    def changed(self) -> None:
        """Another status."""
        self.draw()

    def end(self) -> None:
        """It has ended."""
        self.draw()
        if self._abandoned and not self.widget._view_count:
            self._unshown()
        self._send_again()

    def display(self) -> bool:
        """Displays it below the running cell, unless it is there already."""
        shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
        if shell is None or threading.current_thread() is not threading.main_thread():
            return self._shown_in is not None
        if self._shown_in != shell.execution_count:
            self._show_again()
            self._shown_in = shell.execution_count
            self.widget.told = repr(self._steered)
            sys.modules["IPython"].display.display(self.widget)
            self._send_again()
        return True

    def _show_again(self) -> None:
        with self._lock:
            self._abandoned = False
            if self.widget.comm is None:
                self._build()
                self.draw()

    def _send_again(self, pauses: Sequence[float] | None = None) -> None:
        """Sends the state of all widgets once more after each pause, instead of what was due before."""
        with self._lock:
            if self._again is not None:
                self._again.cancel()
            pauses = _AGAIN if pauses is None else pauses
            self._again = threading.Timer(pauses[0], self._send_state, (pauses[1:],))
            self._again.daemon = True
            self._again.start()

    def _send_state(self, pauses: Sequence[float]) -> None:
        with self._lock:
            if self._again is not threading.current_thread():  # it had fired when another one replaced it
                return
            if self.widget.comm is not None:
                texts = (self.state, self.said, self.curves, self.notes)
                for widget in (self.bar, self.pause, self.stop, self.resume, *texts):
                    widget.send_state()
                if pauses:
                    self._send_again(pauses)
                    return
            self._again = None

    def draw(self) -> None:
        """Shows what is known now."""
        steered = self._steered
        if steered is None:
            return
        with self._lock:
            self._drawn = time.monotonic()
            history, status = steered.history, steered.status
            self.bar.max, self.bar.value = steered.steps, steered.done
            self.bar.bar_style = {"failed": "danger", "finished": "success"}.get(status, "")
            running = status == "running"
            self.pause.disabled = not running or bool(steered.pending)
            self.stop.disabled = not (running or status == "paused") or steered.pending == "stop"
            self.resume.disabled = (running and steered.pending != "pause") or status == "ready"
            self.state.value = f'<span role="status">{shown(state(steered))}</span>'
            self.said.value = f'<span class="dsim-optimize">{shown(numbers(steered, history))}</span>'
            self.curves.value = curves(history)
            self.notes.value = notes(steered)


def _button(name: str, icon: str, tooltip: str) -> widgets.Button:
    made = widgets.Button(description=name, icon=icon, tooltip=tooltip, layout=widgets.Layout(width="auto"))
    hear_while_running(made)
    return made
