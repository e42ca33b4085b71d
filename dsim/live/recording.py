"""The frames that a player plays."""

from __future__ import annotations

from collections.abc import Iterator

from dsim.live.numbers import refused
from dsim.live.scene import ViewFrame


class FrameRecording:
    """Frames in order, within a budget.

    Parameters
    ----------
    budget : int
        How many bytes they may have.
    """

    def __init__(self, budget: int) -> None:
        self._budget = budget
        self._frames: list[ViewFrame] = []
        self.nbytes = 0

    def __len__(self) -> int:
        return len(self._frames)

    def __iter__(self) -> Iterator[ViewFrame]:
        return iter(self._frames)

    def add(self, frame: ViewFrame) -> None:
        """Keeps one more.

        Raises
        ------
        DsimError
            When the budget is spent.
        """
        if self.nbytes + frame.nbytes > self._budget:
            kept = f"the recording of {len(self):,} frames has {self.nbytes:,} bytes"
            message = f"{kept}, its budget {self._budget:,}"
            raise refused(message, "record every second step, or pass `budget=` to `ds.view`")
        self._frames.append(frame)
        self.nbytes += frame.nbytes

    def at(self, number: int) -> ViewFrame | None:
        """The frame with that number, if there is one."""
        return self._frames[number] if 0 <= number < len(self) else None

    def clear(self) -> None:
        """Forgets all."""
        self._frames.clear()
        self.nbytes = 0
