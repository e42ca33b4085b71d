"""Dataclasses that kernels make: members, defaults, methods, operators; carried, joined, returned."""

import dataclasses
import functools
import operator
from dataclasses import dataclass, field
from typing import Any

from tests.frontend.dialect import agrees, f, lowered, refused, run, ti

x = f(4, values=[0.5, -1.25, 2.0, 3.0])
y = f(4)


@dataclass
class Pair:
    a: "float"
    b: float = 2.0

    def total(self):
        return self.a + self.b

    def twice(self):
        return 2.0 * self.total()

    @property
    def product(self):
        return self.a * self.b

    @functools.cached_property
    def ratio(self):
        return self.a / self.b

    @staticmethod
    def square(v):
        return v * v

    @classmethod
    def diagonal(cls, v):
        return cls(v, v)

    def __add__(self, other):
        return Pair(self.a + other.a, self.b + other.b)

    def __mul__(self, s):
        return Pair(self.a * s, self.b * s)

    def __rmul__(self, s):
        return self * s

    def __neg__(self):
        return Pair(-self.a, -self.b)

    def __lt__(self, other):
        return self.a < other.a

    def __matmul__(self, other):
        return self.a * other.a + self.b * other.b

    def __call__(self, v):
        return self.a * v + self.b


@dataclass(frozen=True, slots=True)
class Line:
    start: Pair
    end: Pair = field(default_factory=lambda: Pair(1.0, 1.0))
    width: float = field(default=3.0, kw_only=True)

    def length(self):
        return abs(self.end.a - self.start.a) + self.width


@dataclass
class Triple(Pair):
    c: float = 5.0

    def total(self):
        return super().total() + self.c + super().product

    @classmethod
    def diagonal(cls, v):
        return super().diagonal(v)


def test_as_in_python() -> None:
    def members():
        for i in range(4):
            p = Pair(float(x[i]))
            q = Pair(b=float(x[i]), a=2.0)
            y[i] = p.twice() + 10.0 * q.product + Pair.square(3.0) + p.square(2.0) + Pair.diagonal(4.0).b
            y[i] += p.ratio

    def nested():
        for i in range(4):
            line = Line(Pair(x[i], 0.0))
            wide = dataclasses.replace(line, end=Pair(x[i], 2.0), width=1.0)
            y[i] = line.length() + 10.0 * wide.length() + 100.0 * wide.start.b

    def inherited():
        for i in range(4):
            y[i] = Triple(x[i]).twice() + Triple.diagonal(x[i]).total()

    def operators():
        for i in range(4):
            p, q = Pair(x[i], 1.0), Pair(2.0, x[i])
            r = -(p + q) * 3.0 + 0.5 * q
            r += p
            y[i] = r.a + 10.0 * r.b + (p @ q) + p(2.0) + operator.add(p, q).a
            if p < q:
                y[i] += 100.0
            if p > q:
                y[i] += 1000.0

    def carried():
        for i in range(4):
            p = Pair(x[i], 2.0)
            n = 0
            while n < 5:
                n += 1
                p = Pair(p.a + 0.5 * p.b, p.b)
                if p.a > 2.0:
                    break
            if x[i] > 0.0:
                p = Pair(p.b, p.a)
            q = p if x[i] > 1.0 else Pair(0.0, 1.0)
            y[i] = p.a + 10.0 * p.b + 100.0 * q.a

    for program in (members, nested, inherited, operators, carried):
        agrees(program, [y])


def test_annotated_members_are_converted() -> None:
    @dataclass
    class Mixed:
        n: ti.i32
        v: ti.math.vec2
        any: Any
        law: object = None

    def k():
        m = Mixed(7.75, 2.0, (1, 2), lambda q: q + 1.0)
        y[0] = m.n
        y[1] = m.v.y
        y[2] = m.any[1]
        y[3] = m.law(m.n)

    run(k)
    assert y.values.tolist() == [7.0, 2.0, 2.0, 8.0]
    (warning,) = lowered(k).diagnostics
    assert warning.code == "type-change"


def test_struct_types_define_operators_too() -> None:
    @ti.dataclass
    class Vec:  # noqa: PLW1641
        a: float
        b: float

        @ti.func
        def __add__(self, other):
            return Vec(self.a + other.a, self.b + other.b)

        @ti.func
        def __rmul__(self, s):
            return Vec(s * self.a, s * self.b)

        @ti.func
        def __neg__(self):
            return -1.0 * self

        @ti.func
        def __eq__(self, other):
            return self.a == other.a

        @ti.func
        def __call__(self, v):
            return self.a * v

        @ti.func
        def __iadd__(self, other):
            self.a += other.a
            return self

        @ti.func
        def __sub__(self, other):
            self.a -= other.a
            return self

    def k():
        v, w = Vec(1.0, 2.0), Vec(10.0, 20.0)
        r = -(v + 2.0 * w)
        y[0] = r.a + r.b
        y[1] = v(7.0)
        y[2] = 1.0 if v == Vec(1.0, 3.0) else 2.0

    run(k)
    assert y.values[:3].tolist() == [-63.0, 7.0, 1.0]

    def in_place():
        v = Vec(1.0, 2.0)
        v += v

    def changing():
        v = Vec(1.0, 2.0)
        w = v - v
        y[0] = w.a

    def missing():
        y[0] = (Vec(1.0, 2.0) / 2.0).a

    assert refused(in_place) == (
        "type: kernels do not call `__iadd__`, which a `Vec` has\nhelp: write `a = a + b`, with `__add__`"
    )
    assert "type: `__sub__` changes a `Vec`, and an operator only computes" in refused(changing)
    assert "type: `/` does not work on a `Vec`\nhelp: compute with its members: `a`, `b`" in refused(missing)


def test_refusals() -> None:
    @dataclass
    class Prepared:
        a: float

        def __post_init__(self):
            self.a *= 2.0

    @dataclass(init=False)
    class Own:
        a: float

        def __init__(self):
            self.a = 1.0

    def after():
        y[0] = Prepared(1.0).a

    def own():
        y[0] = Own().a

    def too_few():
        y[0] = Pair().a

    def no_number():
        y[0] = Pair([1.0, 2.0]).a

    def changed():
        p = Pair(1.0)
        p.a = 2.0

    def equal():
        y[0] = Pair(1.0) == Pair(2.0)

    def unknown():
        y[0] = dataclasses.replace(Pair(1.0), c=2.0).a

    def no_record():
        y[0] = dataclasses.replace(1.0, c=2.0).a

    def other_class():
        p = Pair(1.0)
        if x[0] > 0.0:
            p = Triple(1.0)
        y[0] = p.a

    def either_class():
        y[0] = (Pair(1.0) if x[0] > 0.0 else Triple(1.0)).a

    def result() -> Pair:
        return Pair(1.0)

    def either(p: Pair | Triple):
        y[0] = p.a

    def no_method():
        y[0] = super().a

    no_init = "help: compute its members before and pass them, or make it a property"
    one_class = (
        "help: make it one class with a number that tells the variants apart: `match p: case P(kind=0):`"
    )
    wanted = {
        after: f"unknown-function: kernels do not run the `__post_init__` of `Prepared`\n{no_init}",
        own: f"unknown-function: kernels do not run the `__init__` of `Own`\n{no_init}",
        too_few: "argument: wrong arguments for `Pair`: missing a required argument: 'a'",
        no_number: "type: `Pair.a` is a number, got a list of 2",
        changed: "type: a member of a dataclass cannot be changed in a kernel\n"
        "help: make another: `p = dataclasses.replace(p, a=…)`; or make the class a struct: `@ds.dataclass`",
        equal: "type: `==` does not work on the dataclass `Pair`\nhelp: compute with its members: `a`, `b`",
        unknown: "unknown-attribute: `Pair` has no member `c`",
        no_record: "argument: `replace` takes a dataclass and new values of members, got a float",
        other_class: f"the right side is the dataclass `Triple`\n{one_class}",
        either_class: f"the dataclass `Pair`, the other the dataclass `Triple`\n{one_class}",
        result: "return: a kernel returns scalars, vectors, matrices and structs\n"
        "help: return its members, or make the class a struct: `@ds.dataclass`",
        either: "argument: a kernel cannot take a parameter of this type\n"
        "help: annotate it `p: ds.template()`, and tell the classes apart by `match p:`",
        no_method: "unknown-function: `super()` works only in methods",
    }
    for function, message in wanted.items():
        assert message in refused(function), function.__name__


class Doubled(Pair):
    def __mul__(self, s):
        return super().__mul__(2.0 * s)

    def __call__(self, v):
        return super().__call__(v) + self.__neg__().a


def test_operators_by_name() -> None:
    def by_name():
        for i in range(4):
            p = Doubled(x[i], 3.0)
            y[i] = (p * 2.0).a + 10.0 * p(x[i]) + Pair(x[i]).__call__(2.0) + (p.__add__(p)).b

    def other():
        y[0] = Pair(x[0]).__class__

    agrees(by_name, [y])
    assert "`Pair` has no `__class__`" in refused(other)
