"""Funcs of the plain interpreter: arguments are copied, and a func may have a custom derivative."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator

from tests.fuzz.oracle.numbers import Dual, Tangent
from tests.fuzz.oracle.structs import Element, Struct
from tests.fuzz.oracle.vectors import Array


class Func:
    """A func; its derivative is that of what it computes, or a linear one of its own."""

    def __init__(self, function: Callable) -> None:
        self.function = function
        self.jvp: Func | None = None
        self.vjp: Func | None = None

    def derivative(self, jvp: Func | None = None, vjp: Func | None = None, check: bool = True) -> Func:
        """Gives it a derivative; one of the two is enough, since they say the same."""
        self.jvp, self.vjp = jvp, vjp
        return self

    def __call__(self, *args):
        args = tuple(copied(a) for a in args)
        if self.jvp is None and self.vjp is None:
            return self.function(*args)
        values = tuple(constant(a) for a in args)
        result = constant(self.function(*map(copied, values)))
        floats = [a for a in args if isinstance(a, Dual | Array)]
        slopes = self._by_tangents(values, result) if self.jvp else self._by_adjoints(values, result)
        tangents = [number.d for a in floats for number in numbers_of(a)]
        for number, row in zip(numbers_of(result), slopes, strict=True):
            number.d = sum((s * d for s, d in zip(row, tangents, strict=True)), 0.0)
        return result

    def _by_tangents(self, values: tuple, result) -> list[list[Tangent]]:
        """The derivative of each number of the result by each of the arguments', one tangent at a time."""
        assert self.jvp
        columns = [
            [n.v for n in numbers_of(self._ruled(self.jvp, (*values, *tangents), result))]
            for tangents in unit(tuple(v for v in values if isinstance(v, Dual | Array)))
        ]
        return [list(row) for row in zip(*columns, strict=True)]

    def _by_adjoints(self, values: tuple, result) -> list[list[Tangent]]:
        """The same, one adjoint at a time."""
        assert self.vjp
        rows = []
        for (adjoint,) in unit((result,)):
            found = self._ruled(self.vjp, (*values, adjoint), result)
            parts = found if isinstance(found, tuple) else (found,)
            rows.append([n.v for part in parts for n in numbers_of(part)])
        return rows

    def _ruled(self, rule: Func, args: tuple, result):
        asks = "result" in inspect.signature(rule.function).parameters
        return rule.function(*map(copied, args), **({"result": copied(result)} if asks else {}))


def copied(value):
    """`value`, not to be shared."""
    return value.copy() if isinstance(value, Array | Struct | Element) else value


def constant(value):
    """`value` without its derivative."""
    if isinstance(value, Array):
        return Array([constant(e) for e in value.entries], value.shape)
    return Dual(value.v, 0.0, value.bits) if isinstance(value, Dual) else value


def numbers_of(value) -> list[Dual]:
    """The numbers of a float or a vector."""
    return value.entries if isinstance(value, Array) else [value]


def unit(values: tuple) -> Iterator[tuple]:
    """Floats and vectors like `values`, one of their numbers 1 and the others 0, for each number."""
    count = sum(len(numbers_of(v)) for v in values)
    for n in range(count):
        numbers = iter([Dual(float(i == n)) for i in range(count)])
        yield tuple(
            Array([next(numbers) for _ in v.entries], v.shape) if isinstance(v, Array) else next(numbers)
            for v in values
        )
