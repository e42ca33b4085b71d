"""Functions as values, dataclasses made in kernels, and `match` over variants."""

import functools
from dataclasses import dataclass, replace

import dsim as ds
from tests.corpus.program import program


@program
def closures_over_what_varies_in_a_loop(make):
    x, y = make.input(4), make.output(4)

    def twice(law):
        return lambda q: law(law(q))

    @ds.kernel
    def run():
        for i in x:
            stiffness = 1.0 + x[i] ** 2

            def spring(q, damping=0.1 * x[i]):
                return -stiffness * q - damping * q**3  # noqa: B023

            q = x[i]
            for _ in range(5):
                q += 0.1 * spring(q)
                stiffness *= 1.1
            bent = functools.partial(lambda a, b: ds.sin(a * b), stiffness)
            y[i] = twice(bent)(q) + ds.grad(spring)(q)

    return run


@dataclass
class Dual:
    """A number with a first derivative of its own."""

    value: float
    slope: float = 0.0

    def __add__(self, other):
        return Dual(self.value + other.value, self.slope + other.slope)

    def __mul__(self, other):
        return Dual(self.value * other.value, self.value * other.slope + self.slope * other.value)

    def __rmul__(self, s):
        return Dual(s * self.value, s * self.slope)

    @property
    def size(self):
        return self.value**2 + self.slope**2


@program
def dataclasses_with_operators_carried_through_loops(make):
    x, y = make.input(4), make.output(4)

    @ds.kernel
    def run():
        for i in x:
            z = Dual(x[i], 1.0)
            s = Dual(0.0)
            for n in range(4):
                s = s + (1.0 / (n + 1.0)) * z * z
                if s.size > 2.0:
                    s = replace(s, slope=0.5 * s.slope)
            y[i] = s.value * s.slope

    return run


@dataclass(frozen=True)
class Variable:
    pass


@dataclass(frozen=True)
class Sum:
    left: object
    right: object


@dataclass(frozen=True)
class Product:
    left: object
    right: object


@dataclass(frozen=True)
class Power:
    base: object
    exponent: int


def value(tree, q):
    match tree:
        case Variable():
            return q
        case float(c):
            return c
        case Sum(left, right):
            return value(left, q) + value(right, q)
        case Product(left, right):
            return value(left, q) * value(right, q)
        case Power(base, exponent=n):
            return value(base, q) ** n


@program
def trees_of_dataclasses(make):
    x, y = make.input(4), make.output(4)
    q = Variable()
    trees = [Sum(Power(q, 3), Product(2.0, q)), Product(Sum(q, 1.5), Power(Sum(q, q), 2))]

    @ds.kernel
    def run():
        for i in x:
            for tree in ds.static(trees):
                y[i] += value(tree, x[i])

    return run


@ds.dataclass
class Shape:
    kind: ds.i32
    size: float
    half: ds.math.vec2


@program
def variants_that_are_known_when_it_runs(make):
    x, y = make.input(6, low=0.2), make.output(6)

    @ds.func
    def distance(shape, p):
        match shape:
            case Shape(kind=0, size=r):
                return p.norm() - r
            case Shape(kind=1, half=[a, b]) if a < b:
                return ds.max(abs(p.x) - a, abs(p.y) - b)
            case Shape(1, half=half):
                return (p - half).norm_sqr()
            case _:
                return p.sum() * shape.size**2

    @ds.kernel
    def run():
        for i in x:
            shape = Shape(i % 3, x[i], [x[i], 0.9])
            match (i, x[i]):
                case (0 | 3, a):
                    shape.size *= a
                case (n, a) if a > 0.8:
                    shape.size += n * a**3
            y[i] = distance(shape, ds.Vector([2.0 * x[i], x[i] ** 2]))

    return run
