"""A view of fields that hold all steps: the player goes along their axis of time."""

from __future__ import annotations

from numbers import Integral
from pathlib import Path

from dsim.diagnostics.frames import outermost
from dsim.live.scene.numbers import refused
from dsim.live.scene.over_time import History
from dsim.live.scene.scene import Scene, ViewFrame
from dsim.live.steps import StepFrames
from dsim.live.view import View


class TimeView(View):
    """A view over time; `update` shows the present numbers, of all steps or of those until one.

    Parameters
    ----------
    scene : Scene
        What it draws.
    history : History
        The numbers of all steps, of which `scene` draws one.
    """

    def __init__(self, scene: Scene, history: History) -> None:
        super().__init__(scene, 0)
        self._history = history
        self.recording = StepFrames(self._made, history.count)

    @outermost
    def update(self, step: int | None = None, text: str = "") -> None:
        """Shows the present numbers.

        Parameters
        ----------
        step : int, optional
            The last step that is there so far; by default all are.
        text : str, default ""
            Any text to be written below the picture.

        Raises
        ------
        DsimError
            When there is no such step.
        """
        if step is not None and not (isinstance(step, Integral) and 0 <= step < self._history.count):
            message = f"there are {self._history.count:,} steps, none with the number {step!r}"
            raise refused(message, "name the last step that is there; the first one is 0")
        super().update(step, text)

    @outermost
    def record(self, step: int | None = None, text: str = "") -> None:
        """Refused: the frames are the steps."""
        raise refused("a view over time has its frames", "`update()` shows the present numbers")

    @outermost
    def save(self, path: str | Path, rate: float = 30.0, budget: int = 20_000_000) -> None:
        """Writes a picture of the last step, or all steps as a video or a page; see `View.save`."""
        self._refuse_closed()
        self._frame()  # with the present numbers
        super().save(path, rate, budget)

    def _frame(self) -> ViewFrame:
        with self._lock:
            self._history.take()
            last, count = self._last[0], self._history.count
            last = count - 1 if last is None else min(last, count - 1)
            self.recording.added = last + 1
            self._numbers += 1
            made = self._made(last)
            return ViewFrame({**made.header, "number": self._numbers}, made.data)

    def _made(self, number: int) -> ViewFrame:
        with self._lock:
            self._history.at = number
            return self.scene.frame(number, number, self._last[1])

    def _send(self, frame: ViewFrame) -> None:
        if self._widget is not None:
            self._say(frame, recorded=len(self.recording), renewed=True)
