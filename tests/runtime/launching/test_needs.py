"""The boxes that adjoints still read: few, joined, the same whether a step is remembered or worked out."""

import random

import pytest

import dsim as ti
from dsim.runtime.launching import needs as module
from dsim.runtime.launching.interval_sets import joined, meet, minus, outside
from dsim.runtime.launching.needs import Needs


@pytest.fixture(autouse=True)
def _nothing_remembered(monkeypatch):
    monkeypatch.setattr(module, "_STEPS", module._Steps())


def test_needs_stay_few_however_long_the_tape():
    x, y = ti.field(ti.f32, shape=(1000, 8)), ti.field(ti.f32, shape=())
    needs = Needs()
    hull_of_x, hull_of_y = needs.hull(x), needs.hull(y)
    assert (hull_of_x[0], hull_of_y) == (0, [0])
    for t in range(1000):
        assert needs.hit(x, ((t, t + 1), (0, 8))) is None
        needs.add(x, ((t, t + 1), (0, 8)), t)
    assert len(needs._held[x].calls) == 1
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


class _Plain:
    """The same without memory: a list of boxes, each with its calls."""

    def __init__(self):
        self.held = []

    def add(self, box, call):
        for part in outside([box], [known for known, _ in self.held]):
            for item in reversed(self.held):
                whole = joined(item[0], part)
                if whole is not None:
                    item[0], item[1] = whole, item[1] | {call}
                    break
            else:
                self.held.append([part, {call}])

    def take(self, box):
        found, left = [], []
        for known, calls in self.held:
            shared = meet(known, box)
            if shared is None:
                left.append([known, calls])
            else:
                found.append((known, shared, calls))
                left += [[part, calls] for part in minus(known, shared)]
        self.held = left
        return found


def _box(draw, shape):
    ends = [sorted(draw.sample(range(n + 1), 2)) for n in shape]
    return tuple(map(tuple, ends))


@pytest.mark.parametrize("most", [4096, 20, 0])
def test_remembered_steps_agree_with_those_worked_out(monkeypatch, most):
    monkeypatch.setattr(module, "_REMEMBERED", most)
    x = ti.field(ti.f32, shape=(4, 3))
    draw = random.Random(3)
    for _ in range(60):
        script = [(draw.random() < 0.4, _box(draw, (4, 3))) for _ in range(12)]
        for _ in range(2):
            needs, plain = Needs(), _Plain()
            hull = needs.hull(x)
            for call, (takes, box) in enumerate(script):
                if takes:
                    found = [(r.box, shared, r.calls) for r, shared in needs.take(x, box)]
                    expected = plain.take(box)
                    assert [f[:2] for f in found] == [e[:2] for e in expected]
                    assert all(set(f[2]) >= e[2] for f, e in zip(found, expected, strict=True))
                else:
                    needs.add(x, box, call)
                    plain.add(box, call)
                held = [known for known, _ in plain.held]
                assert hull[0] == bool(held)
                for axis in range(2 if held else 0):
                    low, high = hull[2 * axis + 1], hull[2 * axis + 2]
                    assert (low, high) == (min(b[axis][0] for b in held), max(b[axis][1] for b in held))
                assert all(needs.hit(x, known) for known in held)
    steps = module._STEPS
    assert len(steps._added) + len(steps._taken) <= max(most, 1)
    assert (most < 4096) or len(steps._taken) > 100


@pytest.mark.slow
def test_many_boxes_are_not_remembered():
    x = ti.field(ti.f32, shape=1000)
    needs = Needs()
    for i in range(0, 1000, 2):
        needs.add(x, ((i, i + 1),), i)
    assert len(module._STEPS._added) == 32
    assert len(needs.take(x, ((0, 1000),))) == 500
    assert not module._STEPS._taken
    assert needs.hull(x)[0] == 0


def test_what_is_overwritten_in_part_again_and_again_stays_few_boxes():
    x = ti.field(ti.f32, shape=10)
    needs = Needs()
    for call in range(100):
        needs.add(x, ((0, 10),), call)
        assert [shared for _, shared in needs.take(x, ((3, 4),))] == [((3, 4),)]
    assert [shared for _, shared in needs.take(x, ((0, 10),))] == [((0, 3),), ((4, 10),)]


def test_parts_of_a_region_share_the_calls_that_read_it():
    x = ti.field(ti.f32, shape=10)
    needs = Needs()
    for call in range(100):
        needs.add(x, ((0, 10),), call)
        needs.take(x, ((3, 4),))
    ((first, _), (second, _)) = needs.take(x, ((0, 10),))
    assert first.calls is second.calls
