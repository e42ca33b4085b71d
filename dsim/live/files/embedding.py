"""The frames of a recording as text of a page: each deflated, thinned to what a budget allows."""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from dataclasses import dataclass

from dsim.live.files.delta_coding import DeltaCoder
from dsim.live.scene.numbers import refused
from dsim.live.scene.scene import ViewFrame

_CAUTION = 0.8  # of the frames that seem too many


@dataclass(frozen=True)
class Embedded:
    """A recording as JSON.

    Attributes
    ----------
    frames : list of str
        Each frame as JSON: its header, the order of its differences, and its bytes deflated and in base64.
    total : int
        How many frames there were.
    stride : int
        Of so many frames one is there, and the last.
    """

    frames: list[str]
    total: int
    stride: int

    @property
    def left_out(self) -> int:
        """How many frames are not there."""
        return self.total - len(self.frames)

    @property
    def note(self) -> str:
        """What a reader is told of the frames that are not there."""
        if not self.left_out:
            return ""
        which = "the last" if len(self.frames) == 1 else f"one in {self.stride:,}, and the last"
        return f"{len(self.frames):,} of {self.total:,} frames: {which}"


def embedded(frames: Sequence[ViewFrame], budget: int, added: int = 0, every: int = 1) -> Embedded:
    """The frames in at most `budget` bytes.

    Parameters
    ----------
    frames : sequence of ViewFrame
        A recording.
    budget : int
        Bytes.
    added, every : int, optional
        The number of frames of which the recording itself has one in `every`, if they are not all there.

    Raises
    ------
    DsimError
        When the last one alone is larger.
    """
    if not isinstance(budget, int | float) or not budget > 0:
        raise refused(f"`budget` is a number of bytes, not {budget!r}", "budget=20_000_000")
    stride = 1
    while True:
        kept = _kept(len(frames), stride)
        texts = _texts([frames[k] for k in kept], budget)
        if len(texts) == len(kept):
            return Embedded(texts, max(added, len(frames)), stride * every)
        if len(kept) == 1:
            message = f"a frame takes more bytes of a page than its budget of {budget:,}"
            raise refused(message, "pass a larger `budget=`, or view fewer points")
        # What fitted tells how many fit, but later frames may be smaller, and those farther apart are larger.
        stride = max(stride + 1, int(_CAUTION * stride * len(kept) / (len(texts) + 1)))


def _kept(count: int, stride: int) -> list[int]:
    """Every so many frames, and the last; the last alone where `stride` is `count`."""
    if stride >= count:
        return [count - 1]
    return sorted({*range(0, count, stride), count - 1})


def _texts(frames: Sequence[ViewFrame], budget: int) -> list[str]:
    """Frames as JSON, as far as the budget goes."""
    coder = DeltaCoder()
    texts: list[str] = []
    left = budget
    for frame in frames:
        header, order, data = coder.encoded(frame)
        told = {"header": header, "order": order, "data": base64.b64encode(data).decode()}
        text = json.dumps(told, separators=(",", ":"))
        left -= len(text)
        if left < 0:
            break
        texts.append(text)
    return texts
