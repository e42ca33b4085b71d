"""Frames as differences: what is written comes back bit by bit, and moving points take few bytes."""

import itertools
import zlib

import numpy as np
import pytest

from dsim.live.files.delta_coding import KEY, DeltaCoder
from dsim.live.scene.encoding import codes_of
from dsim.live.scene.layers import Arrows, GridLayer, Points
from dsim.live.scene.scene import Scene

RANDOM = np.random.default_rng(0)
TYPES = {"u8": np.uint8, "u16": np.uint16}


def decoded(header, order, data, before):
    """The codes of a frame, in arithmetic of Python's whole numbers."""
    left, found = zlib.decompress(data), []
    for described in (each for layer in header["layers"] for each in layer["arrays"].values()):
        dtype = np.dtype(TYPES[described["type"]])
        size, modulus = int(np.prod(described["shape"])), 256**dtype.itemsize
        planes = [left[k * size : (k + 1) * size] for k in range(dtype.itemsize)]
        left = left[dtype.itemsize * size :]
        words = [sum(byte << (8 * k) for k, byte in enumerate(each)) for each in zip(*planes, strict=True)]
        if order:
            signed = [word // 2 if word % 2 == 0 else -(word + 1) // 2 for word in words]
            known = [frame[len(found)].reshape(-1).tolist() for frame in before[:order]]
            predicted = known[0] if order == 1 else [2 * a - b for a, b in zip(*known, strict=True)]
            words = [(p + s) % modulus for p, s in zip(predicted, signed, strict=True)]
        found.append(np.array(words, dtype).reshape(described["shape"]))
    assert left == b""
    return found


def orders_of(frames):
    """The orders of frames, which all come back as they were."""
    coder, before, orders = DeltaCoder(), [], []
    for frame in frames:
        header, order, data = coder.encoded(frame)
        codes = decoded(header, order, data, before)
        for wanted, found in zip(kept(frame), codes, strict=True):
            assert wanted is None or np.array_equal(wanted, found)
        before = [codes, *before]
        orders.append(order)
    return orders


def kept(frame):
    """The codes of a frame; None for `f32`, which get others."""
    for layer in frame.header["layers"]:
        for described in layer["arrays"].values():
            yield None if described["type"] == "f32" else codes_of(described, frame.data)


def cloud(points):
    at = np.zeros((points, 2))
    return at, Scene([Points(name="p", at=at)], "t", [(0, 1), (0, 1)])


def test_steady_motion_is_predicted():
    at, scene = cloud(200)
    start, velocity = RANDOM.random((200, 2)), 0.002 * RANDOM.normal(size=(200, 2))
    frames = []
    for step in range(2 * KEY + 3):
        at[...] = start + step * velocity
        frames.append(scene.frame(step))
    orders = orders_of(frames)
    assert [k for k, order in enumerate(orders) if order == 0] == [0, KEY, 2 * KEY]
    assert orders[1:3] == [1, 2]
    coder = DeltaCoder()
    sizes = [len(coder.encoded(frame)[2]) for frame in frames]
    assert sizes[5] < 0.5 * sizes[0]


def test_frames_that_have_nothing_in_common_are_written_as_they_are():
    at, scene = cloud(50)
    frames = []
    for step in range(6):
        at[...] = RANDOM.random((50, 2))
        frames.append(scene.frame(step))
    assert orders_of(frames)[0] == 0


def test_all_kinds_of_arrays_with_missing_numbers_and_jumps_between_the_ends():
    at, grid, wind = np.zeros((9, 3)), np.zeros((4, 5)), np.zeros((9, 3))
    layers = Points(name="p", at=at, values=at[:, 0]), Arrows(name="a", at=at, vectors=wind, scale=1.0)
    deep = Scene(layers, "t", [(0, 1)] * 3)
    flat = Scene([GridLayer(name="g", values=grid, limits=(0, 1))], "t", None)
    for scene, array in itertools.product((deep, flat), (0.0, 1.0)):
        frames = []
        for step in range(5):
            at[...], wind[...] = RANDOM.random((9, 3)), RANDOM.normal(size=(9, 3))
            at[step] = np.nan, array, 1 - array
            grid[...] = array if step % 2 else 1 - array
            grid[0, step] = np.inf
            frames.append(scene.frame(step))
        orders_of(frames)


@pytest.mark.parametrize("points", [0, 1])
def test_few_points(points):
    _, scene = cloud(points)
    assert len(orders_of([scene.frame(1), scene.frame(2)])) == 2


def test_another_number_of_points_begins_anew():
    at = [np.full((3, 2), 0.5)]
    scene = Scene([Points(name="p", at=lambda: at[0])], "t", [(0, 1), (0, 1)])
    frames = [scene.frame(1), scene.frame(2)]
    at[0] = np.full((4, 2), 0.5)
    frames.append(scene.frame(3))
    assert orders_of(frames) == [0, 1, 0]
