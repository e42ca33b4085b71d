"""Frames that need not be kept: each is made when it is asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from dsim.live.recording import FrameRecording
from dsim.live.scene.scene import ViewFrame


class StepFrames(FrameRecording):
    """The frames of all steps.

    Parameters
    ----------
    make : callable
        Makes the frame of a step.
    count : int
        How many steps there are.
    """

    def __init__(self, make: Callable[[int], ViewFrame], count: int) -> None:
        super().__init__(0)
        self._make = make
        self.added = count

    def __len__(self) -> int:
        return self.added

    def __iter__(self) -> Iterator[ViewFrame]:
        return (self._make(number) for number in range(self.added))

    def at(self, number: int) -> ViewFrame | None:
        """The frame of that step, if there is one."""
        return self._make(number) if 0 <= number < self.added else None
