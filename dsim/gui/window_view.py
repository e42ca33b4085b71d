"""The view of a window: the page's keys and pointer go to the program that draws."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from dsim.gui.events import Event, events_of
from dsim.gui.window_scene import WindowScene
from dsim.live.scene.scene import ViewFrame
from dsim.live.view import View


class WindowView(View):
    """A view that a program listens to.

    Attributes
    ----------
    hear : callable or None
        Called with each event of the page, from the thread of its messages; None where no program wants them.
    """

    def __init__(self, scene: WindowScene, budget: int) -> None:
        super().__init__(scene, budget, thinning=True)
        self.hear: Callable[[Event], None] | None = None
        self._listening = False
        self._cells = threading.get_ident()  # the thread in which they run
        self._beside = False  # the last message of the page came in another thread
        self._hearing["input"] = self._input

    @property
    def answers(self) -> bool:
        """Whether the page's messages arrive while a cell runs."""
        return self.shown and self._beside

    def listen(self, listening: bool) -> None:
        """Whether a program wants events now; a page is told with the next frame, or when it wants none."""
        ends = self._listening and not listening
        self._listening = listening and self.hear is not None
        if ends and self._widget is not None:
            self._widget.send({"type": "listening", "listening": False})

    def _heard(self, message: dict[str, Any]) -> None:
        self._beside = threading.get_ident() != self._cells
        super()._heard(message)

    def _input(self, message: dict[str, Any]) -> None:
        if self.hear is not None:
            for event in events_of(message):
                self.hear(event)

    def _say(self, sent: ViewFrame, **more: int | str) -> None:
        super()._say(sent, **more, listening=self._listening)
