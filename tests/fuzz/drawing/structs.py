"""Random programs with structs: a field of them, locals, funcs of them, and a method.

The field is declared beside the others, which get its members: a kernel names a member as ``b[i].q``, or by a
name of its own, ``b_q[i]``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tests.fuzz.drawing.expressions import Choosing, Expressions, Feature, Scope
from tests.fuzz.drawing.program import FieldSpec
from tests.fuzz.drawing.statements import Lines, Statements, indented

HEAD = """
@ti.dataclass
class Inner:
    a: ti.f64
    c: ti.f64


@ti.dataclass
class Ball:
    p: ti.types.vector(2, ti.f64)
    q: ti.f64
    n: ti.i32
    t: Inner

    @ti.func
    def move(self, a):
{move}

    @ti.func
    def size(self, a):
        return {size}


b = Ball.field(shape=({n},), needs_grad=True)
"""

FLOATS = ("q", "t.a", "t.c")
FUNC = "blend"


class MemberSpec(FieldSpec):
    """A member of the field of structs."""

    @property
    def is_part(self) -> bool:
        """It is declared with the struct."""
        return True

    @property
    def member(self) -> str:
        """How it is named after an element."""
        return self.name.removeprefix("b_").replace("_", ".")

    def text(self, name: str = "") -> str:
        """A name of its own for it."""
        return super().text(name) if name else f"{self.name} = b.{self.member}"

    def element(self, at: str, other: bool = False) -> str:
        """By its own name, or as a part of the element."""
        return f"b[{at}].{self.member}" if other else f"{self.name}[{at}]"


def members(rng: np.random.Generator, n: int) -> tuple[FieldSpec, ...]:
    """The members of the field of structs."""

    def floats(name: str, *entry: int) -> FieldSpec:
        return MemberSpec(name, (n,), np.round(rng.uniform(-1, 1, (n, *entry)), 2), False, entry)

    integers = MemberSpec("b_n", (n,), rng.integers(0, 4, n).astype(np.int32), True)
    return (floats("b_p", 2), floats("b_q"), integers, floats("b_t_a"), floats("b_t_c"))


def head(choosing: Choosing, n: int) -> str:
    """The types, and the field."""
    writing = Statements(choosing.random, (), ())
    structs = Structs(n)
    scope = Scope(floats=["a"], structs=["self"])
    lines = ["self.q = ti.sin(self.q + a * self.t.a)"]
    lines += [line for _ in range(choosing.some(1, 3)) for line in structs.change(writing, scope)]
    size = structs.changed(writing, scope)
    return HEAD.format(move="\n".join(indented(indented(lines))), size=size, n=n).strip()


def func(choosing: Choosing, n: int) -> str:
    """A func of two structs and a number that gives a struct, and changes its argument."""
    structs = Structs(n)
    writing = Statements(choosing.random, (), (), features=(structs,))
    writing.left = 2
    scope = Scope(floats=["a"], structs=["s", "r"])
    lines = ["r = o", *structs.change(writing, scope), *writing.block(scope, 1)]
    made = choosing.pick("r", "s", structs.made(writing, scope))
    early = [f"if {writing.condition(scope)}:", "    return s"] * choosing.chance(30)
    return "\n".join(["@ti.func", f"def {FUNC}(s, o, a):", *indented([*lines, *early, f"return {made}"])])


@dataclass(frozen=True)
class Structs(Feature):
    """Expressions and statements with structs, of which the field has `n`."""

    n: int

    def element(self, writing: Expressions, scope: Scope) -> str:
        """An element of the field."""
        return f"b[{writing.index(self.n, scope)}]"

    def here(self, writing: Expressions, scope: Scope, locals_only: bool = False) -> list[str]:
        """Structs that may be read: locals, and, where nothing is written that was read, elements."""
        elements = [] if locals_only or not _free(writing) else [self.element(writing, scope)]
        return [*scope.structs * 2, *elements]

    def atoms(self, writing: Expressions, scope: Scope) -> list[str]:
        """Members."""
        found = []
        for s in self.here(writing, scope):
            found += [
                f"{s}.{writing.pick(*FLOATS)}",
                f"{s}.p[{writing.index(2, scope)}]",
                f"{s}.p.norm_sqr()",
            ]
        return found

    def integers(self, writing: Expressions, scope: Scope) -> list[str]:
        """Members."""
        return [f"{s}.n" for s in scope.structs]

    def numbers(self, writing: Expressions, scope: Scope, depth: int) -> list[str]:
        """What a method gives."""
        return [f"{s}.size({writing.number(scope, 0)})" for s in self.here(writing, scope)[:1]]

    def statements(self, writing: Statements, scope: Scope) -> list[Callable[[Scope, int], Lines]]:
        """New structs, changed ones, and stored ones."""
        if not writing.features or not writing.funcs:
            return []  # inside of a func
        ways = [lambda scope, depth: self.new(writing, scope)] * 9
        ways += [lambda scope, depth: self.change(writing, scope)] * (14 * bool(scope.structs))
        if writing.in_place and writing.targets:
            ways += [lambda scope, depth: self.store(writing, scope)] * 8
        return ways

    def new(self, writing: Statements, scope: Scope) -> Lines:
        """A new local."""
        there = self.here(writing, scope)
        kinds = ["made", *["copy", "blend", "blend", "select"] * bool(there)]
        kind, a, o = writing.pick(*kinds), *(writing.pick(*there, "") for _ in "12")
        a, o = a or self.made(writing, scope), o or self.made(writing, scope)
        value = {
            "made": lambda: self.made(writing, scope),
            "copy": lambda: a,
            "blend": lambda: f"{FUNC}({a}, {o}, {writing.number(scope, 0)})",
            "select": lambda: f"ti.select({writing.condition(scope, 0)}, {a}, {o})",
        }[kind]()
        lines = [f"{(name := writing.fresh('t'))} = {value}"]
        scope.structs.append(name)
        for _ in range(writing.pick(0, 1, 2)):
            lines += self._changed(writing, scope, name)
        if writing.chance(60):
            lines.append(f"loss[None] += 0.3 * {name}.size({writing.number(scope, 0)})")
        return lines

    def made(self, writing: Expressions, scope: Scope) -> str:
        """A struct of its members."""
        p = f"ti.Vector([{writing.bounded(scope)}, {writing.bounded(scope)}])"
        inner = f"Inner({writing.bounded(scope)}, c={writing.bounded(scope)})"
        q, n = writing.bounded(scope), writing.integer(scope)
        return writing.pick(
            f"Ball({p}, {q}, {n}, {inner})", f"Ball(q={q}, t={inner})", f"Ball(p={p}, n={n}, t={inner})"
        )

    def change(self, writing: Statements, scope: Scope) -> Lines:
        """A part of a local changes, or all of it."""
        return self._changed(writing, scope, writing.pick(*scope.structs))

    def _changed(self, writing: Statements, scope: Scope, s: str) -> Lines:
        kinds = ["set", "set", "add", "entry", "vector", "inner", "integer"]
        kind = writing.pick(*kinds, *["method"] * 6 * bool(writing.funcs), *["whole"] * bool(writing.funcs))
        target = f"{s}.{writing.pick(*FLOATS)}" if kind != "entry" else f"{s}.p[{writing.index(2, scope)}]"
        value = writing.bounded(scope, target if writing.chance(50) else "")
        pair = f"ti.Vector([{value}, {writing.bounded(scope)}])"
        return [
            {
                "set": f"{target} = {value}",
                "entry": f"{target} = {value}",
                "add": f"{target} {writing.pick('+=', '-=')} 0.3 * {value}",
                "vector": writing.pick(
                    f"{s}.p = {pair}", f"{s}.p = 0.5 * {s}.p + {pair}", f"{s}.p += {pair}"
                ),
                "inner": f"{s}.t = Inner({writing.bounded(scope)}, {value})",
                "integer": f"{s}.n = ({writing.integer(scope)}) % 4",
                "method": f"{s}.move({writing.number(scope, 0)})",
                "whole": f"{s} = {self.made(writing, scope)}",
            }[kind]
        ]

    def changed(self, writing: Expressions, scope: Scope) -> str:
        """A number that all members have a part in."""
        terms = [f"{w} * self.{name}" for w, name in zip(("0.5", "0.3", "-0.8"), FLOATS, strict=True)]
        return f"ti.sin({' + '.join(terms)} + self.p[0] * a) * {writing.bounded(scope)} + 0.1 * self.n"

    def store(self, writing: Statements, scope: Scope) -> Lines:
        """An element changes, or a part of it."""
        s = self.element(writing, scope)
        if scope.structs and writing.chance(40):
            return [f"{s} = {writing.pick(*scope.structs)}"]
        if writing.chance(20):
            other = self.element(writing, scope)
            return [f"{s} = {FUNC}({other}, {s}, {writing.number(scope, 0)})"]
        return self._changed(writing, scope, s)


def _free(writing: Expressions) -> bool:
    """Whether a kernel may read any member, since it writes all or none."""
    if not isinstance(writing, Statements):
        return True
    return writing.in_place or not any(f.is_part for f in writing.targets)
