"""The frames that a player plays."""

from __future__ import annotations

from collections.abc import Iterator

from dsim.live.scene.numbers import refused
from dsim.live.scene.scene import ViewFrame


class FrameRecording:
    """Frames in order, within a budget.

    Parameters
    ----------
    budget : int
        How many bytes they may have.
    thinning : bool, default False
        Whether a recording that has reached its budget gives up every second frame, and goes on with one in
        two; without it, one more frame is refused.

    Attributes
    ----------
    nbytes : int
        How many they have.
    added : int
        How many frames there were.
    stride : int
        Of so many frames one is kept, and the last.
    """

    def __init__(self, budget: int, thinning: bool = False) -> None:
        self._budget = budget
        self._thinning = thinning
        self.clear()

    def __len__(self) -> int:
        return len(self._frames) + (self._last is not None)

    def __iter__(self) -> Iterator[ViewFrame]:
        yield from self._frames
        if self._last is not None:
            yield self._last

    @property
    def note(self) -> str:
        """What a person is told of the frames that are not there."""
        if self.stride == 1:
            return ""
        return f"{len(self):,} of {self.added:,} frames recorded: one in {self.stride:,}, and the last"

    def add(self, frame: ViewFrame) -> None:
        """Keeps one more.

        Raises
        ------
        DsimError
            When the budget is spent, and frames are not thinned.
        """
        number = self.added
        while self._thinning and self._overfull(number, frame):
            self._frames = self._frames[::2]
            self.nbytes = sum(kept.nbytes for kept in self._frames)
            self.stride *= 2
        if not self._thinning and self.nbytes + frame.nbytes > self._budget:
            kept = f"the recording of {len(self):,} frames has {self.nbytes:,} bytes"
            message = f"{kept}, its budget {self._budget:,}"
            raise refused(message, "record every second step, or pass `budget=` to `ds.view`")
        self.added += 1
        if number % self.stride:
            self._last = frame
        else:
            self._last = None
            self._frames.append(frame)
            self.nbytes += frame.nbytes

    def _overfull(self, number: int, frame: ViewFrame) -> bool:
        due = number % self.stride == 0
        return due and self.nbytes + frame.nbytes > self._budget and len(self._frames) > 1

    def at(self, number: int) -> ViewFrame | None:
        """The frame with that number, if there is one."""
        if self._last is not None and number == len(self._frames):
            return self._last
        return self._frames[number] if 0 <= number < len(self._frames) else None

    def clear(self) -> None:
        """Forgets all."""
        self._frames: list[ViewFrame] = []
        self._last: ViewFrame | None = None  # the newest, where it is none of those that are kept
        self.nbytes = self.added = 0
        self.stride = 1
