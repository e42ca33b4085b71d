"""Random programs with floats and integers of 32 and of 64 bits, and casts between all of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from tests.fuzz.drawing.expressions import Choosing, Expressions, Feature, Scope
from tests.fuzz.drawing.program import FieldSpec
from tests.fuzz.drawing.statements import Lines, Statements

FLOATS = ("ti.f32", "ti.f64")
INTEGERS = ("ti.i32", "ti.i64")
LARGE = 1 << 40  # no i32


def mixed(choosing: Choosing, fields: tuple[FieldSpec, ...]) -> tuple[FieldSpec, ...]:
    """The fields, some of them with numbers of another size, and two more."""
    n = fields[0].shape[0]
    rng = np.random.default_rng(choosing.some(0, 9999))
    single = choosing.pick(("y",), ("u", "s"), ("x", "v"), ("y", "m", "s"))
    narrow = np.array(np.round(rng.uniform(-1, 1, n), 2), np.float32)
    long = rng.integers(0, 4, n) + rng.integers(0, 2, n) * LARGE
    given = tuple(
        replace(f, bits=32, start=f.start.astype(np.float32)) if f.name in single else f for f in fields
    )
    return (*given, FieldSpec("h", (n,), narrow, bits=32), FieldSpec("l", (n,), long, True, bits=64))


class Casts(Feature):
    """Casts, and locals of the types that they give."""

    def numbers(self, writing: Expressions, scope: Scope, depth: int) -> list[str]:
        """Floats of a type, made of floats and of integers."""
        a, n, dtype = writing.number(scope, depth - 1), writing.integer_atom(scope), writing.pick(*FLOATS)
        forms = ["ti.cast({a}, {t})", "{t}({a})", "{t}(({n}) % 7) * 0.2", "ti.cast(({n}) % 5, {t}) * 0.3"]
        forms += ["float({a})", "ti.cast({a} * 2.0 + 0.3, {i}) * 0.25"]
        i = writing.pick(*INTEGERS)
        return [form.format(a=a, n=n, t=dtype, i=i) for form in writing.random.sample(forms, 2)]

    def integers(self, writing: Expressions, scope: Scope) -> list[str]:
        """Integers of a type; some that wrap in 32 bits, and do not in 64."""
        known = [n for n in scope.integers if n[0] in "nwt"]
        inner = writing.pick(*known) if known else None
        if inner is None:
            return []
        t = writing.pick(*INTEGERS)
        return [f"{t}({inner})", f"ti.cast({inner}, {t})", f"(({t}({inner}) * 1103515245 + 12345) >> 16)"]

    def statements(self, writing: Statements, scope: Scope) -> list[Callable[[Scope, int], Lines]]:
        """New locals of a type."""
        return [lambda scope, depth: self.new(writing, scope)] * 7

    def new(self, writing: Statements, scope: Scope) -> Lines:
        """A new local; what it becomes later is cast to its type."""
        if writing.chance(60):
            line = f"{(name := writing.fresh('a'))} = {writing.pick(*FLOATS)}({writing.number(scope)})"
            scope.floats.append(name)
            scope.mutable_floats.append(name)
            return [line]
        line = f"{(name := writing.fresh('n'))} = {writing.pick(*INTEGERS)}({writing.integer(scope)})"
        scope.integers.append(name)
        scope.mutable_integers.append(name)
        return [line]
