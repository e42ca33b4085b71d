"""A long loop needs little memory for its gradient."""

from __future__ import annotations

import pytest

import dsim as ti
from dsim.runtime.state.settings import LOOP_MEMORY
from tests.limits import memory
from tests.passes.saving.worlds import World, same

pytestmark = [
    pytest.mark.filterwarnings("ignore:warning.serial:dsim.DsimWarning"),
    pytest.mark.filterwarnings("ignore:warning.unreached:dsim.DsimWarning"),
]


def long(w: World):
    x, loss = w.x, w.loss

    @ti.kernel
    def run(m: int):
        s = x[0]
        for _ in range(m):
            s += 1e-6 * ti.sin(s)
        loss[None] += s

    return lambda: run(1_000_000)


def long_in_place(w: World):
    x, y, loss = w.x, w.y, w.loss

    @ti.kernel
    def run(m: int):
        for _ in range(m):
            for j in range(4):
                y[1, j] += 1e-6 * ti.sin(y[1, (j + 1) % 4] + x[j])
        loss[None] += y[1, 0]

    return lambda: run(100_000)


def long_in_place_inside(w: World):
    """One trip of the outer loop writes more than there is room for."""
    x, y, loss = w.x, w.y, w.loss

    @ti.kernel
    def run(m: int):
        for t in range(3):
            for k in range(m):
                y[1, k % 4] += 1e-6 * ti.sin(y[1, (k + t) % 4] + x[0])
        loss[None] += y[1, 0]

    return lambda: run(150_000)


@pytest.mark.slow
@pytest.mark.parametrize("build", [long, long_in_place, long_in_place_inside], ids=lambda f: f.__name__)
def test_a_long_loop_needs_little_memory(build) -> None:
    w = World(build, LOOP_MEMORY, "cpu")
    with memory(1 << 20), pytest.raises(ti.DsimError, match="memory"):
        w.gradients()
    whole = World(build, LOOP_MEMORY, "cpu").gradients()
    w = World(build, 1 << 18, "cpu")
    with memory(1 << 20):
        found = w.gradients()
    same(found, whole)


def test_the_setting_is_a_number_of_bytes() -> None:
    ti.init(loop_memory=12345)
    assert ti.cfg.loop_memory == 12345
    with pytest.raises(TypeError, match="loop_memory must be a positive number of bytes, got 0"):
        ti.init(loop_memory=0)
