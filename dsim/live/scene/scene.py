"""What a view draws: its layers and the box around them; a frame is their numbers at one moment."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from dsim.live.scene.colour_maps import colour_map
from dsim.live.scene.encoding import Packer
from dsim.live.scene.layers import Bounds, ImageLayer, Layer, Placed, Sampled
from dsim.live.scene.looks import pairs
from dsim.live.scene.numbers import refused

VERSION = 1
_EMPTY = 0.05  # of the width, around what is drawn


@dataclass(frozen=True)
class ViewFrame:
    """The numbers of one moment.

    Attributes
    ----------
    header : dict
        JSON that says where in `data` each array is.
    data : bytes
        The arrays.
    """

    header: dict[str, Any]
    data: bytes

    @property
    def nbytes(self) -> int:
        """Its size, header included."""
        return len(self.data) + len(json.dumps(self.header))


class Scene:
    """Layers in a box, with a title.

    Parameters
    ----------
    layers : sequence of Layer
        From the back to the front.
    title : str
        Its name for people, and for screen readers.
    bounds : sequence of (float, float), optional
        The picture in each of 2 or 3 dimensions; by default what the present numbers need. These grow when
        most positions of a layer have left them.
    """

    def __init__(self, layers: Sequence[Layer], title: str, bounds: Sequence[Sequence[float]] | None) -> None:
        if not isinstance(title, str):
            raise refused(f"`title` is a text, not {title!r}", f"title={str(title)!r}")
        self.layers = tuple(layers)
        self.title = title
        self._grows = bounds is None
        self.bounds = _around(self.layers) if bounds is None else _checked(bounds, self.layers)
        self._is_point = all(low == high for box in _boxes(self.layers) for low, high in box)

    def json(self) -> dict[str, Any]:
        """What the page is told once."""
        layers = [layer.scene() for layer in self.layers]
        maps = {each["map"]: colour_map(each["map"]) for each in layers if each["map"] is not None}
        return {
            "version": VERSION, "title": self.title, "dimensions": len(self.bounds), "bounds": self.bounds,
            "layers": layers, "maps": maps,
        }  # fmt: skip

    def frame(self, number: int, step: int | None = None, text: str = "") -> ViewFrame:
        """The present numbers of all layers."""
        packer, layers = self._packed()
        placed = [layer for layer in self.layers if isinstance(layer, Placed)]
        if self._grows and any(2 * layer.outside > layer.drawn for layer in placed):
            self._grow()
            packer, layers = self._packed()
        header = {"number": number, "step": step, "text": text, "layers": layers}
        notes = []
        for layer, told in zip(self.layers, layers, strict=True):
            if layer.sample is not None:
                told["of"] = layer.count
                drawn = f"{len(layer.sample):,} of {layer.count:,} {layer.kind} of {layer.name}"
                notes.append(f"{drawn}, chosen at random")
        for layer in placed:
            if layer.nowhere and not layer.gaps:
                counts = f"{layer.nowhere:,} of {layer.nowhere + layer.drawn:,} {_places(layer)}"
                notes.append(f"{counts} are not finite, so not drawn")
        notes += [
            f"{image.unknown:,} of {image.count:,} pixels of {image.name} are not finite"
            for image in self.layers
            if isinstance(image, ImageLayer) and image.unknown
        ]
        left = next((layer for layer in placed if layer.outside), None)
        if left is not None and (self._grows or left.outside == left.drawn):
            counts = f"{left.outside:,} of {left.drawn:,} {_places(left)}"
            notes.append(f"{counts} are outside of the picture, which `bounds=` makes larger")
        return ViewFrame({**header, "note": " · ".join(notes)} if notes else header, packer.buffer())

    def _packed(self) -> tuple[Packer, list[dict[str, Any]]]:
        packer = Packer()
        return packer, [{"arrays": layer.arrays(packer, self.bounds)} for layer in self.layers]

    def _grow(self) -> None:
        """Takes in what has left the bounds; those around a single point were only a guess."""
        new = _around(self.layers)
        if not self._is_point:
            new = [[min(a, c), max(b, d)] for (a, b), (c, d) in zip(self.bounds, new, strict=True)]
        self.bounds, self._is_point = new, False

    def index_of(self, layer: int, drawn: int) -> int:
        """The number of the element that a page calls `drawn`, since it knows only those that are drawn."""
        sample = self.layers[layer].sample if 0 <= layer < len(self.layers) else None
        return drawn if sample is None or not 0 <= drawn < len(sample) else int(sample[drawn])


def _places(layer: Placed) -> str:
    """What is at the positions of a layer, for people."""
    return f"{layer.kind if isinstance(layer, Sampled) else 'corners'} of {layer.name}"


def _around(layers: Sequence[Layer]) -> Bounds:
    found = _boxes(layers)
    filling = _boxes([layer for layer in layers if layer.kind in ("grid", "image")])
    found = filling or found
    if not found:
        raise refused(
            "there is nothing to draw", "`ds.view(x)` takes a field of positions, or one with two axes"
        )
    box = [[min(b[d][0] for b in found), max(b[d][1] for b in found)] for d in range(len(found[0]))]
    if filling:
        return box
    widest = max(high - low for low, high in box) or max(1.0, *(abs(high) for _, high in box))
    return [[low - _EMPTY * widest, high + _EMPTY * widest] for low, high in box]


def _boxes(layers: Sequence[Layer]) -> list[Bounds]:
    """What each layer needs, all of the same dimension."""
    found = [b for b in (layer.bounds() for layer in layers) if b is not None]
    if len({len(b) for b in found}) > 1:
        raise refused("these layers are of 2 and of 3 dimensions", "a view has one kind of positions")
    return found


def _checked(bounds: Sequence[Sequence[float]], layers: Sequence[Layer]) -> Bounds:
    made = pairs(bounds)
    if made is None:
        raise refused("`bounds` are 2 or 3 pairs of a lower and a higher number", "bounds=[(0, 1), (0, 1)]")
    if any(len(found) != len(made) for found in _boxes(layers)):
        raise refused(
            f"`bounds` are of {len(made)} dimensions, what is drawn is not", "one pair for each dimension"
        )
    return made
