"""`match`: which case is taken, and what its names stand for."""

import enum
from dataclasses import dataclass

from dsim.ir.nodes import If
from dsim.ir.walk import statements
from tests.frontend.dialect import agrees, f, lowered, run, ti

x = f(6, values=[0.5, -1.25, 2.0, 3.0, -0.5, 1.0])
y = f(6)


class Level(enum.IntEnum):
    LOW = 0
    HIGH = 1


class Colour(enum.Enum):
    RED = 1
    BLUE = 2


@dataclass
class Sphere:
    center: float
    radius: float


@dataclass
class Box:
    low: float
    high: float


@ti.dataclass
class Shape:
    kind: ti.i32
    size: float
    v: ti.math.vec2


def _branches(kernel) -> list[If]:
    return [s for s in statements(lowered(kernel).kernel.body) if isinstance(s, If)]


# ------------------------------------------------------------------ as in Python


def test_numbers() -> None:
    def literals():
        for i in range(6):
            match i:
                case 0 | 1:
                    v = x[i] ** 2
                case n if n > 3:
                    v = n * x[i]
                case -1:
                    v = 100.0
                case _:
                    v = 5.0 * x[i]
            y[i] = v

    def floats_and_members():
        for i in range(6):
            match x[i]:
                case 0.5:
                    y[i] = 1.0
                case -1.25 | 2:
                    y[i] = 2.0
            match i % 2:
                case Level.LOW:
                    y[i] += 10.0
                case Level.HIGH:
                    y[i] += 20.0

    def truth_values():
        for i in range(6):
            match bool(x[i] > 0.0):
                case True:
                    y[i] = 1.0
                case False:
                    y[i] = 2.0

    for program in (literals, floats_and_members, truth_values):
        agrees(program, [y])


def test_sequences() -> None:
    def tuples():
        for i in range(6):
            match (i % 3, x[i], (x[i], 2.0)):
                case (0, a, _):
                    y[i] = a
                case (1, _, (a, b)) | (5, a, (_, b)):
                    y[i] = a * b
                case (_, _):
                    y[i] = 100.0
                case [_, *rest] as whole:
                    y[i] = rest[0] + 10.0 * whole[2][1] + len(rest)

    def last_ones():
        for i in range(6):
            match (i, 1, x[i], 4.0):
                case (*_, a, 4.0) if a > 0.0:
                    y[i] = a
                case (first, *_):
                    y[i] = first

    agrees(tuples, [y])
    agrees(last_ones, [y])


def test_vectors() -> None:
    def k():
        for i in range(6):
            v = ti.Vector([float(i % 2), x[i], x[i] + 1.0])
            match v:
                case [_, _]:
                    y[i] = 100.0
                case [0.0, a, _]:
                    y[i] = a
                case [1, *rest]:
                    y[i] = rest[0] * rest[1]

    run(k)
    assert y.values.tolist() == [a if i % 2 == 0 else a * (a + 1) for i, a in enumerate(x.values)]


def test_a_name_is_bound_before_its_guard() -> None:
    def certain():
        for i in range(6):
            n = 100
            v = 0
            match i:
                case n if n > 2:
                    v = 1
                case _:
                    v = 2
            y[i] = 10.0 * n + v

    def possible():
        for i in range(6):
            n = 100
            v = 0
            match (i % 2, i):
                case (0, n) if n > 2:
                    v = 1
                case _:
                    v = 2
            y[i] = 10.0 * n + v

    agrees(certain, [y])
    agrees(possible, [y])


def test_ways_out() -> None:
    def loops():
        for i in range(6):
            s = 0.0
            for j in range(10):
                match j:
                    case 2:
                        continue
                    case n if n >= i:
                        break
                s += j * x[i]
            y[i] = s

    def endless():
        for i in range(6):
            n = 0
            while True:
                n += 1
                match n:
                    case 4:
                        break
                    case _ if i == 3:
                        break
            y[i] = n

    def returning(a, i):
        match i:
            case 0:
                return a
            case 1:
                return a * a
        return 5.0 * a

    def of_functions():
        for i in range(6):
            y[i] = returning(x[i], i)

    for program in (loops, endless, of_functions):
        agrees(program, [y])


# ------------------------------------------------------------------ by form, at compile time


def test_classes_are_told_apart_when_the_kernel_is_compiled() -> None:
    def distance(s, a):
        match s:
            case Sphere(center=c, radius=r):
                return (a - c) ** 2 - r**2
            case Box(low, high):
                return (high - a) * (a - low)
            case float(v):
                return a - v
            case bool():
                return 100.0
            case int():
                return a
            case None:
                return 0.0

    shapes = [Sphere(1.0, 2.0), Box(-1.0, 3.0), 2.0, 3, None]

    def k():
        for i in range(6):
            for s in ti.static(shapes):
                y[i] += distance(s, x[i])

    y.values[...] = 0.0
    run(k)
    wanted = [sum(distance(s, float(a)) for s in shapes) for a in x.values]
    assert y.values.tolist() == wanted
    assert not _branches(k)


def test_trees() -> None:
    @dataclass(frozen=True)
    class Add:
        left: object
        right: object

    @dataclass(frozen=True)
    class Times:
        factor: float
        of: object

    class X:
        pass

    def value(e, a):
        match e:
            case X():
                return a
            case Add(left, right):
                return value(left, a) + value(right, a)
            case Times(0.0, _):
                return 0.0
            case Times(c, of=Times(d, inner)):
                return c * d * value(inner, a)
            case Times(c, inner):
                return c * value(inner, a)

    tree = Add(Times(3.0, Times(2.0, X())), Add(Times(0.0, X()), Times(0.5, X())))

    def k():
        for i in range(6):
            y[i] = value(tree, x[i])

    run(k)
    assert y.values.tolist() == [value(tree, a) for a in x.values]


def test_strings_enumerations_and_dictionaries() -> None:
    colour, name, options = Colour.BLUE, "wide", {"kind": "a", "c": 2.0}

    def k():
        match colour:
            case Colour.RED:
                y[0] = 100.0
            case Colour.BLUE:
                y[0] = 1.0
        match name:
            case "narrow":
                y[1] = 100.0
            case "wide" | "broad" as which:
                y[1] = 2.0 if ti.static(which == "wide") else 100.0
        match options:
            case {"kind": "b"}:
                y[2] = 100.0
            case {"missing": _}:
                y[2] = 200.0
            case {"kind": "a", "c": c}:
                y[2] = c

    run(k)
    assert y.values[:3].tolist() == [1.0, 2.0, 2.0]


def test_another_object_of_another_class_is_seen() -> None:
    shape = Sphere(1.0, 2.0)

    def k():
        match shape:
            case Sphere():
                y[0] = 1.0

    assert {c.name for c in lowered(k).objects} == {"Sphere", "shape", "y"}


# ------------------------------------------------------------------ variants that numbers tell


def test_a_tagged_struct() -> None:
    def area(s):
        match s:
            case Shape(kind=0, size=r):
                return 3.0 * r * r
            case Shape(kind=1, v=[a, b]) if a <= 1.0:
                return a * b
            case Shape(1, a):
                return 7.0 * a
            case Shape(size=z):
                return 1.0 + z**3

    def k():
        for i in range(6):
            y[i] = area(Shape(i % 3, x[i], [x[i], 2.0]))

    run(k)
    by_kind = [lambda a: 3 * a * a, lambda a: 2 * a if a <= 1 else 7 * a, lambda a: 1 + a**3]
    assert y.values.tolist() == [by_kind[i % 3](a) for i, a in enumerate(x.values)]


def test_what_is_certain_has_no_branch() -> None:
    def k(i: ti.i32):
        match (i, 2):
            case (_, 3):
                y[0] = 1.0
            case (n, 2):
                y[0] = n

    assert not _branches(k)
