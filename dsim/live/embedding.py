"""The frames of a recording as text of a page: each deflated, thinned to what a budget allows."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dsim.live.encoding import Packer, codes_of
from dsim.live.numbers import refused
from dsim.live.scene import ViewFrame


@dataclass(frozen=True)
class Embedded:
    """A recording as JSON.

    Attributes
    ----------
    frames : list of str
        Each frame as JSON: its header, and its buffer deflated and in base64.
    left_out : int
        How many frames the budget had no room for.
    stride : int
        Of so many frames one is there, and the last.
    """

    frames: list[str]
    left_out: int
    stride: int

    @property
    def note(self) -> str:
        """What a reader is told of the frames that are not there."""
        if not self.left_out:
            return ""
        total = len(self.frames) + self.left_out
        which = "the last" if len(self.frames) == 1 else f"one in {self.stride:,}, and the last"
        return f"{len(self.frames):,} of {total:,} frames: {which}"


def embedded(frames: Sequence[ViewFrame], budget: int) -> Embedded:
    """The frames in at most `budget` bytes.

    Raises
    ------
    DsimError
        When the last one alone is larger.
    """
    if budget <= 0:
        raise refused(f"`budget` is a number of bytes, not {budget!r}", "budget=20_000_000")
    texts = [_text(frame) for frame in frames]
    if len(texts[-1]) > budget:
        message = f"a frame takes {len(texts[-1]):,} bytes of a page, its budget is {budget:,}"
        raise refused(message, "pass a larger `budget=`, or view fewer points")
    stride = 1
    while sum(len(texts[k]) for k in _kept(len(texts), stride)) > budget:
        stride += 1
    kept = [texts[k] for k in _kept(len(texts), stride)]
    return Embedded(kept, len(texts) - len(kept), stride)


def _kept(count: int, stride: int) -> list[int]:
    """Every so many frames, and the last; the last alone where `stride` is `count`."""
    if stride >= count:
        return [count - 1]
    return sorted({*range(0, count, stride), count - 1})


def _text(frame: ViewFrame) -> str:
    packer = Packer()
    layers = [
        {"arrays": {name: _smaller(packer, each, frame.data) for name, each in layer["arrays"].items()}}
        for layer in frame.header["layers"]
    ]
    data = base64.b64encode(zlib.compress(packer.buffer())).decode()
    return json.dumps({"header": {**frame.header, "layers": layers}, "data": data}, separators=(",", ":"))


def _smaller(packer: Packer, described: dict[str, Any], data: bytes) -> dict[str, Any]:
    """The array with 16 bits for each `f32`, 0 among the codes."""
    codes = codes_of(described, data)
    if described["type"] != "f32":
        return {**described, **packer.plain(codes)}
    largest = float(np.abs(codes[np.isfinite(codes)]).max(initial=0.0))
    return packer.quantised(codes, -largest, largest, 16)
