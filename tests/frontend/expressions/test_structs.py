"""Structs in kernels: values, members, methods, elements of struct fields."""

from tests.frontend.balls import Ball, Spin, said, vec2
from tests.frontend.dialect import f, lowered, run, structs, text, ti

# ------------------------------------------------------------------ values


def test_what_is_not_given_is_zero() -> None:
    s = f(8)

    def k():
        b = Ball([1.0, 2.0], hits=3)
        c = Ball(mass=5, spin=Spin(rate=7.0))
        s[0], s[1], s[2], s[3] = b.pos.x, b.pos[1], b.mass, b.hits
        s[4], s[5], s[6], s[7] = c.mass, c.pos.y, c.spin.rate, c.spin.axis.x

    run(k)
    assert s.values.tolist() == [1, 2, 0, 3, 5, 0, 7, 0]


def test_members_have_the_types_of_the_struct() -> None:
    def k(a: float, n: ti.i32) -> float:
        b = Ball(mass=n, hits=n)
        c = Ball(pos=a)
        return b.mass + c.pos.y

    assert text(k).splitlines()[1:] == ["  t: f64 = cast n", "  result: f64 = add t, a", "  return result"]


def test_members_are_assigned() -> None:
    s = f(9)

    def k(i: ti.i32):
        b = Ball(mass=1.0)
        b.mass += 2.0
        b.pos = [3.0, 4.0]
        b.pos.x *= 10.0
        b.pos[i] = 5.0
        b.spin.axis = 6.0
        b.spin.axis[0] -= 1.0
        b.spin.rate = b.spin.axis.sum()
        b["hits"] = 2
        s[0], s[1], s[2], s[3] = b.mass, b.pos.x, b.pos.y, b.pos[i]
        s[4], s[5], s[6], s[7] = b.spin.axis.x, b.spin.axis.y, b.spin.rate, b.hits
        s[8] = ti.atomic_add(b.mass, 1.0) + 100 * b.mass

    run(k, 1)
    assert s.values.tolist() == [3, 30, 5, 5, 5, 6, 11, 2, 403]


def test_members_are_filled() -> None:
    s, spins = f(3), structs(Spin, 2)

    def k():
        b = Ball(mass=1.0)
        b.pos.fill(2.0)
        b.spin.axis.fill(3)
        spins[1].axis.fill(4.0)
        s[0], s[1], s[2] = b.pos.sum(), b.spin.axis.y, spins[1].axis.x

    run(k)
    assert s.values.tolist() == [4, 3, 4]


def test_large_members() -> None:
    Table = ti.types.struct(m=type(vec2)(float, (5, 5)), n=ti.i32)
    s, tables = f(3), structs(Table, 2)

    def k(i: ti.i32):
        t = Table(m=1.0)
        t.m[0, 3] = 4.0
        s[0] = t.m[i, 3]
        m = t.m
        m[i + 1, i] = 7.0
        t.m = m
        tables[1].m[i, i + 1] = 2.0
        s[1], s[2] = t.m[1, 0], tables[1].m[0, i + 1]

    def changed(t: Table, i: ti.i32):
        t.m[i, 0] = 1.0

    run(k, 0)
    assert s.values.tolist() == [4, 7, 2]
    assert said(changed) == (
        "t.m[i, 0]", "`t.m` is too large to be changed by this index", "copy it to a local",
    )  # fmt: skip


def test_an_assignment_copies() -> None:
    s = f(4)

    @ti.func
    def moved(b):
        b.pos.x += 1.0
        return b

    def k():
        a = Ball(pos=[1.0, 2.0])
        b = a
        b.pos.x = 10.0
        c = moved(b)
        inner = a.spin
        inner.rate = 9.0
        s[0], s[1], s[2], s[3] = a.pos.x, b.pos.x, c.pos.x, a.spin.rate

    run(k)
    assert s.values.tolist() == [1, 10, 11, 0]


def test_structs_without_a_type() -> None:
    s = f(7)

    def k(a: float):
        p = ti.Struct(a=a, v=[1.0, 2.0], inner=ti.Struct(b=3))
        q = ti.Struct({"x": 1.5, "in": {"y": a}})
        p.v.x += p.a
        p.inner.b = 7
        q["in"].y += 1.0
        s[0], s[1], s[2], s[3], s[4] = p.v.x, p.v.y, p.inner.b, q.x, q["in"].y
        n = 0
        for key in ti.static(p.keys):
            n += len(p) if ti.static(key == "a") else 1
        s[5] = n
        b = Ball(spin={"rate": a, "axis": [1, 2]})
        s[6] = b.spin.rate

    run(k, 5.0)
    assert s.values.tolist() == [6, 2, 7, 1.5, 6, 5, 5]


def test_members_in_another_order() -> None:
    s = f(2)

    def k():
        p = ti.Struct(a=1.0, b=2.0)
        p = ti.Struct(b=3, a=4)
        s[0], s[1] = p.a, p.b

    run(k)
    assert s.values.tolist() == [4, 3]


def test_carried_through_loops_branches_and_returns() -> None:
    s = f(6)

    @ti.func
    def last(b: Ball, limit) -> Ball:
        for i in range(10):
            if b.mass > limit:
                return b
            if i % 2 == 0:
                b.mass += 1.0
                continue
            b = Ball(pos=b.pos + 1.0, mass=b.mass * 1.5, hits=i)
        return Ball(mass=-1.0)

    def k(limit: float):
        b = last(Ball(mass=1.0), limit)
        s[0], s[1], s[2] = b.mass, b.pos.x, b.hits
        n = 0
        while b.mass < 20.0:
            if n > 1:
                b.mass += 10.0
            else:
                b = Ball(b.pos, b.mass + 1.0, n) if n == 0 else b
            n += 1
        s[3], s[4], s[5] = b.mass, b.hits, n

    run(k, 3.5)
    assert s.values.tolist() == [4, 1, 1, 25, 0, 4]


def test_parameters_and_results_of_kernels() -> None:
    def k(b: Ball, by: float) -> Ball:
        b.push(by)
        return b

    result = lowered(k)
    assert [v.name for v in result.params[0].vars] == [
        "b_pos_x", "b_pos_y", "b_mass", "b_hits", "b_spin_axis_x", "b_spin_axis_y", "b_spin_rate",
    ]  # fmt: skip
    assert len(result.kernel.body.yields) == 7


def test_printed() -> None:
    def k(b: Ball):
        print(b.spin, ti.Struct(a=1))

    (line,) = [line for line in text(k).splitlines() if "print" in line]
    assert "'Struct(axis=['" in line
    assert "'], rate='" in line
    assert "Struct(a=1)" in line


# ------------------------------------------------------------------ methods


def test_methods_of_locals() -> None:
    s = f(6)

    def k():
        b = Ball(pos=[1.0, -2.0], mass=3.0)
        s[0] = b.energy(10.0)
        b.push([1.0, 1.0])
        s[1], s[2] = b.pos.x, b.hits
        s[3] = b.bounce(0.0) + b.bounce(0.0)
        s[4] = b.pos.x
        b.replace(4.0)
        s[5] = b.mass + b.hits

    run(k)
    assert s.values.tolist() == [-60, 2, 1, 1, 3, 4]


def test_methods_that_change_their_struct_in_the_middle_of_things() -> None:
    s = f(8)

    @ti.dataclass
    class Counter:
        n: ti.i32

        @ti.func
        def next(self, by):
            self.n += by
            return self.n

    @ti.dataclass
    class Pair:
        a: Counter
        b: Counter

        @ti.func
        def both(self):
            return self.a.next(1) * 10 + self.b.next(2)

    def k(m: ti.i32):
        c = Counter()
        s[0] = c.next(c.next(1))
        s[1] = c.next(1) if m > 0 else 0
        s[2] = c.n
        if m > 5 and c.next(1) > 0:
            s[3] = 1
        s[4] = c.n
        for _ in range(m):
            for _ in range(2):
                if c.next(1) % 2 == 0:
                    continue
                c.n += 1
        s[5] = c.n
        p = Pair()
        for _ in range(3):
            p.both()
        s[6] = p.both()
        s[7] = [p.a.next(1) for _ in range(3)][2]

    run(k, 2)
    assert s.values.tolist() == [2, 3, 3, 0, 3, 10, 48, 7]


def test_a_method_of_something_that_is_nowhere() -> None:
    s = f(1)

    def k():
        s[0] = Ball(mass=2.0, pos=1.0).energy(3.0)
        Ball().push(1.0)

    run(k)
    assert s.values.tolist() == [6]


# ------------------------------------------------------------------ struct fields


def test_elements() -> None:
    balls, s = structs(Ball, 3), f(4)

    def k():
        for i in balls:
            balls[i].pos = [1.0 * i, 2.0]
            balls[i].pos.x += 0.5
            balls[i].spin.rate -= 1.0
            balls[i].mass *= 3.0
        balls[0] = Ball(mass=2.0, pos=balls[2].pos)
        b = balls[0]
        b.mass = 50.0
        s[0], s[1] = b.mass, balls[0].mass
        s[2] = balls.shape[0]
        s[3] = balls.pos[1].y
        balls[1] = b
        balls[2] = balls[1]
        ti.atomic_add(balls[2].hits, 4)

    run(k)
    assert balls.members["pos"].values.tolist() == [[2.5, 2], [2.5, 2], [2.5, 2]]
    assert balls.members["mass"].values.tolist() == [2, 50, 50]
    assert balls.members["spin"].members["rate"].values.tolist() == [0, 0, 0]
    assert balls.members["hits"].values.tolist() == [0, 0, 4]
    assert s.values.tolist() == [50, 2, 3, 2]


def test_only_the_members_that_are_used_are_touched() -> None:
    balls = structs(Ball, 3)

    def k():
        for i in balls:
            balls[i].mass += balls[i].pos.x

    assert [m.name for m in lowered(k).kernel.memories] == ["balls.mass", "balls.pos"]
    assert lowered(k).called == {"balls.mass": "balls.mass", "balls.pos": "balls.pos"}


def test_methods_of_elements() -> None:
    balls, s = structs(Ball, 2), f(2)

    def k():
        for i in range(2):
            balls[i].push([1.0 + i, -1.0])
            s[i] = balls[i].bounce(-0.5 * i)
        balls[1].replace(9.0)

    run(k)
    assert balls.members["pos"].values.tolist() == [[2, 1], [0, 0]]
    assert balls.members["hits"].values.tolist() == [2, 0]
    assert balls.members["mass"].values.tolist() == [0, 9]
    assert s.values.tolist() == [1, 1]


def test_loops_over_struct_fields_and_whole_ones() -> None:
    balls, s = structs(Ball, 2, 3), f()

    def k():
        balls.fill(2)
        balls.spin.axis.fill(1.0)
        for i, j in balls:
            s[None] += balls[i, j].mass + balls.get_member_field("mass")[i, j]
        for at in ti.grouped(balls):
            for key in ti.static(["mass", "hits"]):
                s[None] += balls[at][key]

    run(k)
    assert s.values == 2 * 3 * (4 + 4)
    assert balls.members["spin"].members["axis"].values.sum() == 12


def test_gradients_of_members() -> None:
    points, out = structs(Spin, 2), f(2)

    def k():
        for i in points:
            out[i] = points.grad[i].rate + points.axis.grad[i].x + points.rate.grad[i]

    keys = [m.key for m in lowered(k).kernel.memories]
    assert keys == [("points.rate", ("bar",)), ("points.axis", ("bar",)), ("out", ())]
