"""Frames as differences from those before them, in an order of bytes that deflates well."""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np

from dsim.live.scene.encoding import Packer, codes_of
from dsim.live.scene.scene import ViewFrame

KEY = 16  # so many frames at most are decoded when a person seeks


class DeltaCoder:
    """Encodes the frames of a recording, one after the other.

    A frame of order 0 is its codes. One of order 1 is their difference from the frame before, one of order 2
    from what the two before predict: that positions go on as they moved. Differences are modulo the size of a
    code, so nothing is lost. Their signs go to the lowest bit, and all low bytes come before all high ones,
    which are 0 in most places.
    """

    def __init__(self) -> None:
        self._layout: Any = None
        self._before: list[list[np.ndarray]] = []  # the codes of two frames at most, the newest first
        self._since_key = 0

    def encoded(self, frame: ViewFrame) -> tuple[dict[str, Any], int, bytes]:
        """The header of a frame in the page, its order, and its bytes.

        Parameters
        ----------
        frame : ViewFrame
            The next frame.
        """
        layers, codes = _quantised(frame)
        layout = [(array.dtype, array.shape) for array in codes]
        if layout != self._layout or self._since_key == KEY:
            self._layout, self._before = layout, []
        order, residuals = self._best(codes)
        self._since_key = self._since_key + 1 if order else 1
        self._before = [codes, *self._before[: 1 if order else 0]]
        told = [planes(each if order == 0 else zigzag(each)) for each in residuals]
        return {**frame.header, "layers": layers}, order, zlib.compress(b"".join(told))

    def _best(self, codes: list[np.ndarray]) -> tuple[int, list[np.ndarray]]:
        """The order that needs the fewest bits, and what is left to be written."""
        found, least = (0, codes), float(sum(8 * array.nbytes for array in codes))
        for order in range(1, min(len(self._before), 2) + 1):
            residuals = [_residual(order, *arrays) for arrays in zip(codes, *self._before[:2], strict=True)]
            bits = sum(float(np.log2(zigzag(each) + 1.0).sum()) for each in residuals)
            if bits < least:
                found, least = (order, residuals), bits
        return found


def _residual(order: int, codes: np.ndarray, before: np.ndarray, *earlier: np.ndarray) -> np.ndarray:
    if order == 1:
        return codes - before
    return codes - before - (before - earlier[0])


def zigzag(residual: np.ndarray) -> np.ndarray:
    """Differences 0, -1, 1, -2 and so on as 0, 1, 2, 3 and so on."""
    sign = residual >> (8 * residual.itemsize - 1)
    return (residual << 1) ^ (np.zeros_like(sign) - sign)


def planes(array: np.ndarray) -> bytes:
    """The lowest bytes of all numbers, then the next ones."""
    flat = np.ascontiguousarray(array).reshape(-1)
    return flat.view(np.uint8).reshape(flat.size, array.itemsize).T.tobytes()


def _quantised(frame: ViewFrame) -> tuple[list[dict[str, Any]], list[np.ndarray]]:
    """The layers of a header, and the codes of their arrays; `f32` have 16 bits, with 0 among them."""
    packer, codes = Packer(), []
    layers = []
    for layer in frame.header["layers"]:
        arrays = {}
        for name, described in layer["arrays"].items():
            arrays[name] = _smaller(packer, described, frame.data)
            codes.append(codes_of({**arrays[name], "offset": 0}, packer.parts[-1]))
        layers.append({**layer, "arrays": arrays})
    return layers, codes


def _smaller(packer: Packer, described: dict[str, Any], data: bytes) -> dict[str, Any]:
    codes = codes_of(described, data)
    if described["type"] != "f32":
        return {**described, **packer.plain(codes)}
    largest = float(np.abs(codes[np.isfinite(codes)]).max(initial=0.0))
    return packer.quantised(codes, -largest, largest, 16)
