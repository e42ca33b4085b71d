"""Boxes: regions of fields."""

import pytest

from dsim.runtime.launching.interval_sets import (
    distinct,
    element,
    hull,
    include,
    joined,
    meet,
    minus,
    outside,
)


def test_boxes():
    assert meet(((0, 3), (2, 5)), ((1, 9), (4, 6))) == ((1, 3), (4, 5))
    assert meet(((0, 3),), ((3, 5),)) is None
    assert meet((), ()) == ()
    assert meet(((2, 5), (0, 1)), ((2, 5), (0, 1))) == ((2, 5), (0, 1))
    assert meet(((2, 2),), ((0, 9),)) is None
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


def test_boxes_that_are_included_become_one():
    boxes = []
    for row in (4, 6, 5, 9, 8, 3):
        include(boxes, ((row, row + 1), (0, 9)))
    assert sorted(boxes) == [((3, 7), (0, 9)), ((8, 10), (0, 9))]
    include(boxes, ((7, 8), (0, 9)))
    assert boxes == [((3, 10), (0, 9))]
    include(boxes, ((4, 5), (2, 3)))
    assert boxes == [((3, 10), (0, 9))]
    include(boxes, ((4, 5), (9, 12)))
    assert len(boxes) == 2


def test_what_is_left_of_a_box():
    assert minus(((0, 4), (0, 4)), ((1, 2), (2, 9))) == [((0, 1), (0, 4)), ((2, 4), (0, 4)), ((1, 2), (0, 2))]
    assert minus(((0, 4),), ((4, 5),)) == [((0, 4),)]
    assert minus((), ()) == []
    assert distinct([((0, 3),), ((1, 5),), ((2, 4),)]) == [((0, 3),), ((3, 5),)]
    assert outside([((0, 9),)], [((1, 2),), ((4, 9),)]) == [((0, 1),), ((2, 4),)]


def test_elements_as_a_person_writes_them():
    assert element("x", ((3, 4),), 0) == "x[3]"
    assert element("x", ((0, 4), (2, 3)), 0) == "x[0:4, 2]"
    assert element("v", ((1, 2), (0, 1)), 1) == "v[1]"
    assert element("b", (), 0) == "b[None]"
    assert element("v", ((0, 2),), 1) == "v[None]"
