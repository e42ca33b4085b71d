"""Iteration over the members of structs, and selection between structs."""

import numpy as np
import pytest

import dsim as ti


@pytest.fixture(autouse=True)
def _fresh():
    ti.init(default_fp=ti.f64)


Point = ti.types.struct(a=ti.f64, v=ti.math.vec2, n=ti.i32)


def test_members_by_name():
    f = Point.field(shape=2)
    f[1] = Point(2.0, [3.0, 4.0], 5)

    @ti.kernel
    def local() -> float:
        p = Point(1.0, [2.0, 3.0], 4)
        total = 0.0
        for key in ti.static(p.keys):
            if ti.static(key != "v"):
                total += p[key]
        for key, value in ti.static(p.items):
            if ti.static(key == "v"):
                total += 10.0 * value.y
            else:
                total += 100.0 * value
        return total

    @ti.kernel
    def element():
        for i in f:
            for key, value in ti.static(f[i].items):
                f[i][key] = value * 2

    assert local() == 1.0 + 4.0 + 30.0 + 500.0
    element()
    assert f[1].to_dict() == {"a": 4.0, "v": [6.0, 8.0], "n": 10}


def test_select():
    f, y = Point.field(shape=2, needs_grad=True), ti.field(ti.f64, shape=(), needs_grad=True)

    @ti.kernel
    def run(which: ti.i32):
        p = ti.select(which == 0, f[0], f[1])
        y[None] = p.a**2 * p.v.y + p.n

    f[0], f[1] = Point(2.0, [0.0, 5.0], 1), Point(3.0, [0.0, 7.0], 2)
    for which, expected in ((0, 21.0), (1, 65.0)):
        with ti.ad.Tape(y):
            run(which)
        assert y[None] == expected
        other = 1 - which
        assert f.a.grad[which] == 2 * f[which].a * f[which].v.y
        assert f.v.grad[which].to_list() == [0.0, f[which].a ** 2]
        assert (f.a.grad[other], f.v.grad[other].to_list()) == (0.0, [0.0, 0.0])


def test_select_of_a_known_condition():
    @ti.kernel
    def run() -> Point:
        return ti.select(True, Point(1.0, [2.0, 3.0], 4), Point())

    assert run() == Point(1.0, [2.0, 3.0], 4)


def test_select_of_what_does_not_go_together():
    other = ti.types.struct(b=ti.f64)

    @ti.kernel
    def two(c: bool) -> float:
        return ti.select(c, Point(), other()).a

    @ti.kernel
    def by_entry(c: ti.math.vec2) -> float:
        return ti.select(c > 0, Point(), Point()).a

    with pytest.raises(TypeError) as error:
        two(True)
    assert "`select` chooses between two structs with the same members by one condition" in str(error.value)
    assert "return ti.select(c, Point(), other()).a" in str(error.value)
    assert "help: give both as structs of `a`, `v`, `n`" in str(error.value)
    with pytest.raises(TypeError, match="chooses between two structs"):
        by_entry(np.ones(2))


def test_members_called_as_what_structs_have():
    odd = ti.types.struct(entries=int, keys=int, items=int, to_dict=int, _data=int, methods=int)

    @ti.kernel
    def run(s: odd) -> int:
        x = odd(1, s.keys, 3, 4, 5)
        x._data += 100
        return x.entries + 10 * x.keys + x.items + x.to_dict + x._data + x.methods

    made = odd(keys=7, items=2)
    assert (made.keys, made.items, made["to_dict"], len(made)) == (7, 2, 0, 6)
    assert made == odd(keys=7, items=2)
    assert "keys=7" in repr(made)
    made.keys = 8
    assert run(made) == 1 + 80 + 3 + 4 + 105
    with pytest.raises(TypeError, match="cannot be called `keys`: fields have an attribute of it"):
        odd.field(shape=2)


def test_members_with_an_underscore_in_fields():
    f = ti.types.struct(_x=ti.f64, y=ti.f64).field(shape=2, needs_grad=True)
    f[1]._x = 3.0

    @ti.kernel
    def run():
        for i in f:
            f[i].y = f[i]._x + 1.0

    run()
    assert f._x.to_numpy().tolist() == [0.0, 3.0]
    assert f[1].to_dict() == {"_x": 3.0, "y": 4.0}
    with pytest.raises(TypeError, match="cannot be called `_first`: fields have an attribute of it"):
        ti.types.struct(_first=ti.f64).field(shape=2)
