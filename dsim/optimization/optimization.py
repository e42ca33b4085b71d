"""An optimisation that can be watched, paused, stopped and resumed."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

import numpy as np

from dsim.diagnostics import Diagnostic, left
from dsim.diagnostics.frames import outermost, trimmed
from dsim.diagnostics.places import caller
from dsim.optimization.control import ChangedError, EndedError, EnoughError, RunControl
from dsim.optimization.error_text import error_lines
from dsim.optimization.guarded import GuardedObjective
from dsim.optimization.kept_file import KeptState
from dsim.optimization.plan import OptimizationPlan, count
from dsim.optimization.points import HISTORY, Best, Iterate, Track
from dsim.optimization.progress import NoProgress, OptimizationProgress
from dsim.optimization.refusal import wrong
from dsim.optimization.working import WORKING, Work
from dsim.runtime.state.evaluations import EVALUATING, OPTIMIZER
from dsim.runtime.state.notices import warn
from dsim.runtime.state.references import uncopied
from dsim.runtime.state.stack import opened

_FILE_EVERY, _VIEW_EVERY = 1.0, 0.1  # seconds


class Optimization:
    """An optimisation of the parameters of a run; made by `optimize`.

    After it has ended, and in a pause, the fields in ``wrt=`` hold the best parameters, and all other fields
    what they held before.

    Attributes
    ----------
    status : str
        ``"ready"``, ``"running"``, ``"paused"``, ``"stopped"``, ``"finished"`` or ``"failed"``.
    message : str
        Why it has ended, in words.
    error : BaseException or None
        With what it has failed.
    steps : int
        How many steps it makes at most.
    replaces : str
        A line about the optimisation of the same fields that it has stopped; empty if there was none.
    changed : str
        A line about a run that gave another loss when it was resumed; empty if it did not.
    track : Track
        The points to which it came.
    """

    def __init__(
        self, plan: OptimizationPlan, background: bool, progress: OptimizationProgress | None = None
    ) -> None:
        self._plan, self._background = plan, background
        self._progress = progress or NoProgress()
        self.steps = plan.steps
        self.status, self.message, self.replaces, self.changed = "ready", "", "", ""
        self.error: BaseException | None = None
        self._control = RunControl()
        self._guarded = GuardedObjective(plan.objective, self._control, plan.tolerance)
        self._guarded.accept, self._guarded.paused = self._accept, self._paused
        self._guarded.running = self._running
        self._x0 = plan.objective.x0
        self.track = Track()
        self._kept = plan.file.read() if plan.file else None
        self._thread: threading.Thread | None = None
        self._ended = threading.Event()
        self._work_here = Work(self, plan.objective, self._control, self._ended)
        self._seconds = self._since = self._written = self._seen = 0.0
        self._raised_trace: Any = None

    @outermost
    def __reduce__(self) -> tuple[Any, ...]:
        uncopied("an optimisation", "keep its file, by `path=`, and make another one")

    # -- what is known of it

    @property
    def best(self) -> Best | None:
        """The least loss and its parameters; None before the first evaluation."""
        best = self.track.best
        return None if best is None else Best(best.loss, self._plan.objective.parameters(best.x))

    @property
    def parameters(self) -> list[tuple[str, np.ndarray]]:
        """The names of what it optimises, and the best values so far."""
        return [] if (best := self.best) is None else best.named(self._plan.objective.wrt)

    @property
    def history(self) -> np.ndarray:
        """A row for the start and for each step: step, loss, gradient_norm, length, seconds."""
        return np.array(list(self.track.rows), HISTORY)

    @property
    def done(self) -> int:
        """How many steps it has made."""
        return max(0, len(self.track.rows) - 1)

    @property
    def method(self) -> str:
        """The method's name."""
        return self._plan.method.name

    @property
    def pending(self) -> str:
        """What it was asked for and has not done yet: ``"stop"``, ``"pause"`` or nothing."""
        if self.status == "running" and self._control.stopping:
            return "stop"
        return "pause" if self.status == "running" and self._control.pausing else ""

    @property
    def heard(self) -> Mapping[str, Diagnostic]:
        """Warnings of the run, while nobody has got them by `wait`."""
        return dict(self._guarded.heard or {})

    def __repr__(self) -> str:
        text = f"optimization by {self.method}: {self.status}, {self.done:,} of {self.steps:,} steps"
        return "; ".join(filter(None, (f"{text}{self.track}", self.message, self.replaces, self.changed)))

    def _ipython_display_(self) -> None:
        if not self._progress.display():
            print(self)  # noqa: T201 (what a shell does)

    # -- what people do with it

    @outermost
    def start(self) -> None:
        """Begins: in a thread of its own in a notebook, else it returns at the end.

        Raises
        ------
        GradientError
            When it has begun before.
        """
        if self.status != "ready":
            raise wrong("this optimisation has begun already", "`resume()` goes on")
        self._launch()

    @outermost
    def pause(self) -> None:
        """Pauses before the next evaluation; the fields then hold the best parameters."""
        going_on = self.status == "paused" and not self._control.pausing  # `resume` was just called
        if self.status != "running" and not going_on:
            advice = "call `start()`" if self.status == "ready" else "`resume()` goes on"
            raise wrong(f"this optimisation is {self.status}, not running", advice)
        if self._control.here() and not self._background:
            raise wrong("nobody could end the pause: this is the thread that works", "use `stop()`")
        self._control.pause()
        self._progress.changed()

    @outermost
    def stop(self, wait: bool = True, why: str = "") -> None:
        """Stops, also inside a launch; the fields then hold the best parameters.

        Parameters
        ----------
        wait : bool, default True
            Whether to return when it has stopped; in a callback it stops after that.
        why : str, optional
            What its `message` is to say.
        """
        if self.status not in ("running", "paused"):
            return
        self._control.stop(why)
        self._progress.changed()
        if wait and not self._control.here():
            self._ended.wait()

    @outermost
    def resume(self, steps: int | None = None) -> None:
        """Goes on: after a pause exactly there, otherwise from the point of the last step.

        SciPy's methods begin anew at that point after a stop; the others go on as if nothing had been.

        Parameters
        ----------
        steps : int, optional
            So many steps more.
        """
        if self.status == "running" and not self._control.pausing:
            raise wrong("this optimisation is running", "`wait()` waits for its end, `stop()` ends it")
        if steps is not None:
            self.steps = self.done + count(steps, "steps")
        elif self.track.point is not None and self.done >= self.steps:
            raise wrong(f"all {self.steps:,} steps are done", "`resume(steps=…)` makes more")
        if self.status in ("running", "paused"):
            self._control.go_on()
            self._progress.changed()
        else:
            self._launch()

    @outermost
    def wait(self, timeout: float | None = None) -> bool:
        """Waits for the end; raises the error of the run, if there is one.

        Ctrl-C, or the kernel's Interrupt, stops the optimisation.

        Parameters
        ----------
        timeout : float, optional
            Seconds to wait at most.

        Returns
        -------
        bool
            Whether it has ended.
        """
        if self.status == "ready":
            raise wrong("this optimisation has not begun", "call `start()`")
        if self._control.here():
            raise wrong("its end cannot be waited for in the thread that works", "use `stop()`, or return")
        try:
            ended = self._ended.wait(timeout)
        except KeyboardInterrupt:
            self.stop()
            raise left(KeyboardInterrupt(repr(self))) from None
        if ended:
            self._tell()
        return ended

    # -- the work

    def _launch(self) -> None:
        if opened():
            message = "an optimisation cannot run inside a tape, a forward mode or `no_grad`"
            raise wrong(message, "start it outside the block")
        if self._thread is not None:
            self._thread.join()  # it has ended, and may not have said so yet
        self._guarded.place = caller()
        if self._plan.file is not None:
            self._plan.file.place = self._guarded.place
        self._guarded.heard = {} if self._background else None
        before = self.status, self.message, self.error
        try:
            replaced = WORKING.enter(self._work_here, self._begin)
            self.replaces = replaced or (self._plan.replaces if self.track.point is None else "")
            if self.replaces:
                self._progress.note(self.replaces)
            if self._background:
                self._progress.display()
                self._thread = threading.Thread(target=self._work, name=OPTIMIZER, daemon=True)
                self._thread.start()
            else:
                self._work()
        except BaseException:  # Ctrl-C, mostly
            if self._thread is None or not self._thread.is_alive():
                WORKING.leave(self._work_here)
                self.status, self.message, self.error = before
                self._ended.set()
            raise
        if not self._background:
            self._tell()

    def _begin(self) -> None:
        self._control.clear()
        self._ended.clear()
        self.status, self.message, self.error = "running", "", None

    def _tell(self) -> None:
        heard, self._guarded.heard = self._guarded.heard, None
        warn((heard or {}).values())
        if self.error is not None:
            raise self.error.with_traceback(self._raised_trace)

    def _work(self) -> None:
        self._control.begin()
        self._since = time.perf_counter()
        status, begun = "failed", False
        try:
            self._progress.begin(self.done, self.steps)
            begun = True
            self.message, status = self._minimised(), "finished"
        except EnoughError:
            status, self.message = "finished", f"all {self.steps:,} steps are done"
        except EndedError:
            status, self.message = "stopped", self._control.why
        except BaseException as error:  # noqa: BLE001 (shown by `wait` and below the cell)
            self._failed(error)
            status = "stopped" if isinstance(error, KeyboardInterrupt) else status
        self._seconds = self._elapsed()
        try:
            self._leave()
        except BaseException as error:  # noqa: BLE001 (also)
            self._failed(error)
            status = "failed"
        self.status = status
        self._control.end()
        try:
            if begun:
                self._progress.end()
            if self._background and self.error is not None and not self._progress.display():
                sys.stderr.write("".join(error_lines(self.error)))
        finally:  # others wait for it
            WORKING.leave(self._work_here)
            self._ended.set()

    def _minimised(self) -> str:
        while True:
            point = self._present()
            if self.done >= self.steps:
                raise EnoughError
            with suppress(ChangedError):
                return self._plan.method.run(self._guarded, point)

    def _failed(self, error: BaseException) -> None:
        trimmed(error)
        self.error, self._raised_trace = error, error.__traceback__
        self.message = f"{type(error).__name__}: {error}".partition("\n")[0]

    def _present(self) -> Iterate:
        """The point to go on from; at the first time the start, or what the file holds."""
        objective, file, kept = self._plan.objective, self._plan.file, self._kept
        if self.track.point is not None:
            self._renew()
            return self.track.point
        self._guarded.step = 0
        objective.explains_zeros = True
        x = self._x0 if kept is None else kept.best.x
        loss, gradient = self._guarded.evaluate(x)
        if kept is None or file is None:
            point = Iterate(x, loss, gradient, self._plan.method.start(len(x)))
            self.track.add(point, self._elapsed())
        else:
            file.refuse_loss(kept.best.loss, loss)
            file.refuse_outside(kept, objective.bounds)
            point = kept.point
            self.track.restore(point, kept.best, kept.history)
            self._seconds += self.track.rows[-1][4]
        self._guarded.step = self.done + 1
        self._progress.moved(self.done, point.loss, point.gradient_norm)
        return point

    def _accept(self, point: Iterate) -> None:
        self.track.add(point, self._elapsed())
        self._guarded.step = self.done + 1
        now = time.monotonic()
        if self._plan.view is not None and now - self._seen > _VIEW_EVERY:
            self._seen = now
            self._show()
        if now - self._written > _FILE_EVERY:
            self._written = now
            self._write(self._guarded.tell)
        self._progress.moved(self.done, point.loss, point.gradient_norm)
        if self._plan.callback is not None:
            self._plan.callback(self)
        if self.done >= self.steps:
            raise EnoughError

    def _elapsed(self) -> float:
        return self._seconds + time.perf_counter() - self._since

    def _paused(self) -> None:
        self._seconds = self._elapsed()
        self._leave(self._guarded.tell)
        self.status = "paused"
        self._progress.changed()

    def _running(self) -> None:
        self._since = time.perf_counter()
        self.status = "running"
        self._progress.changed()
        if self._renew():
            raise ChangedError

    def _renew(self) -> bool:
        """Whether the run gives another loss than before; then that is the loss from now on."""
        found = self.track.renew(self._guarded.evaluate)
        self.changed = found or self.changed
        if found:
            self._progress.note(found)
        return bool(found)

    def _leave(self, tell: Callable[[Diagnostic], None] | None = None) -> None:
        """Puts the best parameters into the fields, the view and the file."""
        if self.track.best is not None:
            self._put(self.track.best)
            self._show()
            self._write(tell)

    def _show(self) -> None:
        if self._plan.view is not None and self.track.best is not None:
            self._put(self.track.best)
            self._plan.view.update()

    def _put(self, point: Iterate) -> None:
        with EVALUATING:
            self._work_here.give(lambda: self._guarded.put(point.x))

    def _write(self, tell: Callable[[Diagnostic], None] | None) -> None:
        point, best = self.track.point, self.track.best
        if self._plan.file is not None and point is not None and best is not None:
            self._plan.file.write(KeptState(point, best, self.history), tell)
