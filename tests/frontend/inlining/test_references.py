"""Funcs that modify the arguments of their ``template()`` parameters."""

from tests.frontend.dialect import f, refused, run, structs, ti

Pair = ti.types.struct(a=ti.f64, v=ti.math.vec2)


@ti.func
def add(a: ti.template(), b):
    a += b


@ti.func
def swap(a: ti.template(), b: ti.template()):
    t = a
    a = b
    b = t


@ti.func
def twice(a: ti.template()):
    add(a, 1.0)
    add(a, 1.0)


def test_locals() -> None:
    s = f(4)

    def k():
        a, n = 1.0, 2
        add(a, 2.5)
        add(n, 3)
        b = 10.0
        swap(a, b)
        s[0], s[1], s[2] = a, b, n
        add(b=a, a=s[3])
        add(s[3], b=1)

    run(k)
    assert s.values.tolist() == [10, 3.5, 5, 11]


def test_parts_of_locals() -> None:
    s = f(6)

    def k(i: int):
        v, m = ti.Vector([1.0, 2.0, 3.0]), ti.Matrix([[1.0, 2.0], [3.0, 4.0]])
        add(v[0], 10.0)
        add(v.yz, ti.Vector([20.0, 30.0]))
        swap(v[0], v[2])
        add(m[1, :], 1.0)
        add(v[i], 100.0)
        s[0], s[1], s[2] = v[0], v[1], v[2]
        s[3], s[4], s[5] = m[0, 1], m[1, 0], m[1, 1]

    run(k, 1)
    assert s.values.tolist() == [33, 122, 11, 2, 4, 5]


def test_elements_of_fields() -> None:
    x, v = f(3, values=[1.0, 2.0, 3.0]), f(2, entry=(2,))

    def k():
        for i in x:
            add(x[i], 10.0 * i)
        add(v[0].x, 1.0)
        add(v[1], ti.Vector([2.0, 3.0]))
        swap(v[0], v[1])

    run(k)
    assert x.values.tolist() == [1, 12, 23]
    assert v.values.tolist() == [[2, 3], [1, 0]]


def test_the_index_is_that_of_the_call() -> None:
    s = f(5)

    @ti.func
    def both(a: ti.template(), n: ti.template()):
        n += 1
        a += 1.0

    def k():
        n = 0
        v = ti.Vector([0.0, 0.0])
        both(v[n], n)
        both(s[n + 2], n)
        s[0], s[1], s[2] = v[0], v[1], n

    run(k)
    assert s.values.tolist() == [1, 0, 2, 1, 0]


def test_a_parameter_is_what_was_passed_and_no_copy() -> None:
    x, s = f(1, values=[1.0]), f(1)

    @ti.func
    def after(a: ti.template()):
        x[0] = 5.0
        return a * 2

    def k():
        s[0] = after(x[0])

    run(k)
    assert s.values[0] == 10


def test_funcs_that_pass_it_on_and_branches_and_loops() -> None:
    s = f(4)

    @ti.func
    def count(n: ti.template(), go):
        if go:
            n += 1
            if n > 2:
                return n
        for _ in range(2):
            n += 10
        return 0

    def k():
        a, n, r = 0.0, 0, 0
        twice(a)
        for i in range(4):
            r += count(n, i % 2 == 0)
            if i == 1:
                twice(a)
        i = 0
        while i < 3:
            add(i, 1)
        s[0], s[1], s[2], s[3] = a, n, r, i

    run(k)
    n, r = 0, 0
    for i in range(4):
        if i % 2 == 0:
            n += 1
            if n > 2:
                r += n
                continue
        n += 20
    assert s.values.tolist() == [4, n, r, 3]


def test_methods_and_structs() -> None:
    s = f(3)

    @ti.func
    def grow(p: ti.template(), by):
        p.x += by
        p.v[1] = by

    @ti.dataclass
    class Pair:
        x: ti.f64
        v: ti.types.vector(2, ti.f64)

        @ti.func
        def double(self):
            self.v *= 2.0

    @ti.func
    def doubled(p: ti.template()):
        p.double()

    def k():
        p = Pair(1.0, ti.Vector([1.0, 1.5]))
        doubled(p)
        grow(p, 5.0)
        add(p.x, 1.0)
        s[0], s[1], s[2] = p.x, p.v[0], p.v[1]

    run(k)
    assert s.values.tolist() == [7, 2, 5]


def test_a_local_keeps_its_type() -> None:
    s = f(1)

    def k():
        n = 1
        add(n, ti.cast(2.75, int))
        s[0] = n / 2

    run(k)
    assert s.values[0] == 1.5


def test_what_cannot_be_changed() -> None:
    x = f(2)

    def number():
        add(1.0, 2.0)

    def expression():
        add(x[0] + 1.0, 2.0)

    @ti.func
    def both(a: ti.template(), b: ti.template()):
        a += 1.0
        b += 1.0

    def twice_the_same():
        a = 1.0
        both(a, a)

    def perhaps_the_same(i: int, j: int):
        v = ti.Vector([1.0, 2.0])
        swap(v[i], v[j])

    def condition():
        a = 0.0
        while grown(a) < 3.0:
            x[0] += 1.0

    @ti.func
    def grown(a: ti.template()):
        a += 1.0
        return a

    def through_another():
        twice(1.0)

    assert "`add` assigns to its template parameter `a`\nhelp:" in refused(number)
    assert "`add` assigns to its template parameter `a`" in refused(expression)
    said = refused(twice_the_same)
    assert "`both` changes `a`, which is passed to it twice\nhelp: copy it to a second local" in said
    assert "`swap` changes `v`, which is passed to it twice" in refused(perhaps_the_same)
    assert "the condition of a loop cannot change `a`" in refused(condition)
    said = refused(through_another)
    assert "`twice` assigns to its template parameter `a`\nhelp: copy it to a local first" in said


def test_an_index_is_computed_once() -> None:
    s = f(4)

    @ti.dataclass
    class Counter:
        n: ti.i32

        @ti.func
        def next(self):
            self.n += 1
            return self.n

    def k():
        v, c = ti.Vector([1.0, 2.0, 3.0]), Counter()
        twice(v[c.next()])
        s[0], s[1], s[2], s[3] = v[0], v[1], v[2], c.n

    run(k)
    assert s.values.tolist() == [1, 4, 3, 1]


def test_structs_and_their_members() -> None:
    s = f(6)
    pairs = structs(Pair, 2)

    @ti.func
    def move(p: ti.template(), by):
        p.v += by
        p.a = p.v.sum()

    def k():
        p = Pair(a=1.0, v=[7.0, 8.0])
        swap(p.a, p.v.y)
        s[0], s[1], s[2] = p.a, p.v.x, p.v.y
        for i in range(2):
            for _ in range(2):
                move(p, i)
            move(pairs[i], 1.0 + i)
        s[3], s[4], s[5] = p.a, p.v.x, p.v.y
        move(p, 10.0)
        pairs[0] = p

    run(k)
    assert s.values.tolist() == [8, 7, 1, 12, 9, 3]
    assert pairs.members["v"].values.tolist() == [[19, 13], [2, 2]]
    assert pairs.members["a"].values.tolist() == [32, 4]
