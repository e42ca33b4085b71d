"""Records: equal and hashed by their fields, printed as dataclasses are, and never assigned to."""

from __future__ import annotations

from dataclasses import field, fields, replace

import pytest

from dsim.records import record


@record
class Point:
    x: float
    y: float = 0.0
    name: str = field(default="", compare=False, repr=False)


@record(eq=False)
class Node:
    children: list[Node]


def test_records_are_equal_and_hashed_by_their_fields():
    assert Point(1.0) == Point(1.0, name="other")
    assert hash(Point(1.0, 2.0)) == hash(Point(1.0, 2.0, name="other"))
    assert Point(1.0) != Point(2.0)
    assert {Point(1.0): "one"}[Point(1.0)] == "one"
    assert replace(Point(1.0, 2.0, "a"), y=3.0) == Point(1.0, 3.0)
    assert [f.name for f in fields(Point)] == ["x", "y", "name"]


def test_records_without_equality_are_equal_to_themselves_only():
    node = Node([])
    assert node == node
    assert node != Node([])
    assert len({node, Node([])}) == 2


def test_a_hash_of_its_own_stays():
    @record
    class Constant:
        value: float

        def __hash__(self):
            return 7

    assert hash(Constant(1.0)) == 7
    assert Constant(1.0) == Constant(1.0)


def test_records_are_printed_by_name_and_fields():
    assert repr(Point(1.0, 2.0, "hidden")) == "Point(x=1.0, y=2.0)"
    assert f"{Node([Node([])])}" == "Node(children=[Node(children=[])])"
    node = Node([])
    node.children.append(node)
    assert repr(node) == "Node(children=[...])"

    @record
    class Named:
        name: str

        def __repr__(self):
            return self.name

    assert repr(Named("itself")) == "itself"


def test_records_have_no_other_attributes():
    with pytest.raises(AttributeError):
        Point(1.0).z = 2.0  # type: ignore[attr-defined]


def test_patterns_match_fields_by_position():
    match Point(1.0, 2.0):
        case Point(x, 2.0):
            assert x == 1.0
        case _:
            pytest.fail("no match")
