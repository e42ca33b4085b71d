"""The access regions of launches."""

from __future__ import annotations

import threading
from typing import Any

from dsim.analysis.regions import Regions, regions, written
from dsim.ir.types import f32, i32
from tests.analysis.kernels import Program

X = ("x", ())


def test_time_indexed_field() -> None:
    p = Program()
    t = p.param("t")
    x = p.field("x", 10, 8)
    with p.loop("i", 1, 7) as i:
        p.store(x, t + 1, i, value=p.load(x, t, i - 1) + p.load(x, t, i + 1))
    kernel = p.kernel()
    reads, writes = regions(kernel, {0, 1}), written(kernel)
    assert (reads.keys, reads.fixed) == ((X,), False)
    assert reads.at((3,)) == (((3, 4), (0, 8)),)
    assert writes.at((3,)) == (((4, 5), (1, 7)),)
    assert writes.at((9,)) == (((10, 10), (1, 7)),)


def test_constant_boxes_and_elements() -> None:
    p = Program()
    x, U = p.field("x", 8), p.field("U")
    with p.loop("i", 0, 8) as i:
        p.add(U, value=p.load(x, i) * p.load(x, 3))
    kernel = p.kernel()
    assert regions(kernel, {0, 1}).fixed
    assert regions(kernel, {0, 1}).at(()) == (((0, 8),),)
    assert written(kernel).at(()) == ((),)
    assert written(kernel).keys == (("U", ()),)


def test_elements_far_apart_stay_apart() -> None:
    p = Program()
    x = p.field("x", 8)
    p.store(x, 0)
    p.store(x, 5)
    p.store(x, 1)
    assert sorted(written(p.kernel()).at(())) == [((0, 2),), ((5, 6),)]


def test_data_reaches_the_whole_axis_only() -> None:
    p = Program()
    t = p.param("t")
    force, ends = p.field("force", 64, 576, 2, entry=1), p.field("ends", 9, type=i32)
    with p.loop("s", 0, 9) as s:
        p.add(force, t, p.load(ends, s), 1)
    assert written(p.kernel()).at((7,)) == (((7, 8), (0, 576), (1, 2)),)


def test_range_that_is_an_argument() -> None:
    p = Program()
    scale, n = p.param("scale", f32), p.param("n")
    x = p.field("x", 64)
    with p.loop("i", 0, n) as i:
        p.store(x, i * 2 + 1, value=scale)
    found = written(p.kernel())
    assert found.at((2.0, 5)) == (((1, 10),),)
    assert found.at((2.0, 500)) == (((1, 64),),)


def test_loops_of_no_trips_reach_nothing() -> None:
    p = Program()
    x = p.field("x", 64)
    with p.loop("i", 5, 5) as i:
        p.store(x, i)
    assert written(p.kernel()).keys == ()


def test_descending_and_triangular_ranges() -> None:
    p = Program()
    x = p.field("x", 64, 64)
    with p.loop("i", 20, 10, step=-3) as i, p.loop("j", i, 30) as j:
        p.store(x, i, j)
    assert written(p.kernel()).at(()) == (((11, 21), (11, 30)),)


def test_watching_hulls() -> None:
    p = Program()
    t = p.param("t")
    x = p.field("x", 10, 8)
    with p.loop("i", 1, 7) as i:
        p.store(x, t + 1, i, value=p.load(x, t, i - 1) + p.load(x, t, i + 1))
    kernel = p.kernel()
    reads, writes = regions(kernel, {0, 1}), written(kernel)
    hull = [0, 1 << 62, -1, 1 << 62, -1]
    for n in range(3, 6):
        assert not writes.meets((hull,), (n,))
        reads.widen((hull,), (n,))
        assert hull == [1, 3, n + 1, 0, 8]
    assert writes.meets((hull,), (4,))
    assert not writes.meets((hull,), (1,))
    assert not writes.meets((hull,), (9,))
    reads.widen((hull,), (20,))
    assert hull == [1, 3, 6, 0, 8]


def test_nobody_waits_for_the_regions_of_others() -> None:
    """A thread that is at it may stay so for ever, in the eyes of a forked child."""
    begun, go = threading.Event(), threading.Event()

    class Slow:
        def boxes(self) -> object:
            begun.set()
            return go.wait(60)

    code: Any = Slow()
    thread = threading.Thread(target=lambda: Regions((), True, code).at)
    thread.start()
    begun.wait(60)
    p = Program()
    p.store(p.field("x", 8), 3, value=1.0)
    other = threading.Thread(target=lambda: written(p.kernel()).at(()), daemon=True)
    other.start()
    other.join(10)
    waits = other.is_alive()
    go.set()
    thread.join()
    assert not waits
