"""Boxes, and the regions that a tape records."""

import pytest

import dsim as ti
from dsim.runtime.launching.interval_sets import Needs, distinct, element, hull, joined, meet, minus, outside


def test_boxes():
    assert meet(((0, 3), (2, 5)), ((1, 9), (4, 6))) == ((1, 3), (4, 5))
    assert meet(((0, 3),), ((3, 5),)) is None
    assert meet((), ()) == ()
    assert hull(((0, 1), (4, 5)), ((2, 3), (4, 6))) == ((0, 3), (4, 6))


@pytest.mark.parametrize(
    ("a", "b", "whole"),
    [
        (((0, 1), (0, 9)), ((1, 2), (0, 9)), ((0, 2), (0, 9))),
        (((0, 1), (0, 9)), ((2, 3), (0, 9)), None),
        (((0, 1), (0, 9)), ((1, 2), (0, 8)), None),
        (((0, 5), (0, 9)), ((1, 2), (3, 4)), ((0, 5), (0, 9))),
        (((1, 2),), ((1, 2),), ((1, 2),)),
        ((), (), ()),
    ],
)
def test_boxes_that_join_exactly(a, b, whole):
    assert joined(a, b) == whole
    assert joined(b, a) == whole


def test_what_is_left_of_a_box():
    assert minus(((0, 4), (0, 4)), ((1, 2), (2, 9))) == [((0, 1), (0, 4)), ((2, 4), (0, 4)), ((1, 2), (0, 2))]
    assert minus(((0, 4),), ((4, 5),)) == [((0, 4),)]
    assert minus((), ()) == []
    assert distinct([((0, 3),), ((1, 5),), ((2, 4),)]) == [((0, 3),), ((3, 5),)]
    assert outside([((0, 9),)], [((1, 2),), ((4, 9),)]) == [((0, 1),), ((2, 4),)]


def test_needs_stay_few_however_long_the_tape():
    x, y = ti.field(ti.f32, shape=(1000, 8)), ti.field(ti.f32, shape=())
    needs = Needs()
    hull_of_x, hull_of_y = needs.hull(x), needs.hull(y)
    assert (hull_of_x[0], hull_of_y) == (0, [0])
    for t in range(1000):
        assert needs.hit(x, ((t, t + 1), (0, 8))) is None
        needs.add(x, ((t, t + 1), (0, 8)), t)
    assert len(needs._held[x]) == 1
    held, shared = needs.hit(x, ((5, 7), (2, 3)))
    assert shared == ((5, 7), (2, 3))
    assert held.box == ((0, 1000), (0, 8))
    assert hull_of_x == [1, 0, 1000, 0, 8]
    needs.add(y, (), "call")
    assert needs.hit(y, ())[0].calls == ["call"]
    assert hull_of_y == [1]


def test_what_is_taken_is_needed_no_longer():
    x = ti.field(ti.f32, shape=(10, 8))
    needs = Needs()
    needs.add(x, ((0, 10), (2, 8)), "call")
    ((held, shared),) = needs.take(x, ((5, 20), (0, 9)))
    assert (held.calls, shared) == (["call"], ((5, 10), (2, 8)))
    assert needs.hull(x) == [1, 0, 5, 2, 8]
    assert needs.take(x, ((5, 20), (0, 9))) == []
    needs.take(x, ((0, 10), (0, 8)))
    assert needs.hull(x)[0] == 0


def test_elements_as_a_person_writes_them():
    assert element("x", ((3, 4),), 0) == "x[3]"
    assert element("x", ((0, 4), (2, 3)), 0) == "x[0:4, 2]"
    assert element("v", ((1, 2), (0, 1)), 1) == "v[1]"
    assert element("b", (), 0) == "b[None]"
    assert element("v", ((0, 2),), 1) == "v[None]"
