"""Random well-formed kernels over three fields: floats `x` in, floats `y` out, integers `n` that steer.

They nest loops (counted, with a continue condition, `While`), branches and private buffers, carry
values, and read and write buffers at data-dependent places; what they compute is smooth almost
everywhere and stays in range. `InPlace` makes such that write all three fields, at any place.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field, fields, is_dataclass, replace
from typing import Any

from dsim.ir.build import TRUE, Builder, const, index
from dsim.ir.nodes import (
    Accumulate,
    Alloc,
    Atom,
    Block,
    Const,
    For,
    If,
    KernelIR,
    Load,
    Memory,
    Store,
    Var,
    While,
)
from dsim.ir.sites import number
from dsim.ir.types import ScalarType, f32, f64, i32, u1

X = Memory("x", f64, (4,))
Y = Memory("y", f64, (4,))
N = Memory("n", i32, (4,))
RANGES = ((0, 3, 1), (1, 6, 2), (3, -1, -1), (0, 0, 1), (2, 4, 1), (5, 0, -2))


def in_single(node: Any) -> Any:
    """A kernel, or a part of one, with f32 in the place of f64."""
    if isinstance(node, ScalarType):
        return f32 if node == f64 else node
    if isinstance(node, Const):
        return const(node.value, in_single(node.type))
    if isinstance(node, tuple):
        return tuple(map(in_single, node))
    if not is_dataclass(node):
        return node
    return replace(node, **{f.name: in_single(getattr(node, f.name)) for f in fields(node)})  # type: ignore[type-var]


@dataclass
class Scope:
    """What a statement may read."""

    floats: list[Atom] = field(default_factory=list)
    integers: list[Atom] = field(default_factory=list)
    buffers: list[Memory] = field(default_factory=list)

    def inner(self) -> Scope:
        return Scope([*self.floats], [*self.integers], [*self.buffers])


class Generator:
    """Builds one kernel from one seed."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.builder = Builder()
        self.depth = 0
        self.size = 0

    def kernel(self) -> KernelIR:
        b, p = self.builder, Var("p", i32)
        scope = Scope(integers=[p])
        with b.block() as body:
            self.load(scope, p)
            self.statements(scope, self.random.randrange(4, 12))
            b.add(Accumulate(Y, (p,), self.a_float(scope)))
        b.add(For(p, index(0), index(4), 1, Block(tuple(body))))
        return number(KernelIR("k", (), (X, Y, N), b.close()))

    # atoms

    def a_float(self, scope: Scope) -> Atom:
        if scope.floats and self.random.random() < 0.9:
            return self.random.choice(scope.floats)
        return const(self.random.uniform(-1, 1), f64)

    def an_integer(self, scope: Scope) -> Atom:
        if self.random.random() < 0.8:
            return self.random.choice(scope.integers)
        return const(self.random.randrange(4), i32)

    def an_index(self, scope: Scope, length: int) -> Atom:
        return self.builder.let("mod", self.an_integer(scope), const(length, i32))

    def a_condition(self, scope: Scope) -> Atom:
        if self.random.random() < 0.5:
            limit = const(self.random.uniform(-0.5, 0.5), f64)
            return self.builder.let(self.random.choice(("lt", "gt")), self.a_float(scope), limit)
        limit = const(self.random.randrange(3), i32)
        return self.builder.let(self.random.choice(("lt", "eq", "ge")), self.an_integer(scope), limit)

    def bounded(self, scope: Scope) -> Atom:
        return self.builder.let("tanh", self.a_float(scope))

    # statements

    def makers(self) -> dict[Callable[[Scope], None], int]:
        """What makes statements, and how often."""
        return {
            self.expression: 35,
            self.load: 7,
            self.load_integer: 4,
            self.accumulate: 6,
            self.alloc: 5,
            self.touch: 16,
        }

    def statements(self, scope: Scope, count: int) -> None:
        makers = self.makers()
        nested = (self.branch, self.counted_loop, self.while_loop)
        for _ in range(count):
            self.size += 1
            if self.size < 60 and self.depth < 3 and self.random.random() < 0.25:
                self.depth += 1
                self.random.choice(nested)(scope)
                self.depth -= 1
            else:
                self.random.choices(tuple(makers), tuple(makers.values()))[0](scope)

    def expression(self, scope: Scope) -> None:
        b, a, c = self.builder, self.a_float(scope), self.a_float(scope)
        forms = (
            lambda: b.let("add", b.let("mul", a, const(0.5, f64)), b.let("mul", c, const(0.6, f64))),
            lambda: b.let("tanh", b.let("mul", a, c)),
            lambda: b.let("sin", a),
            lambda: b.let("sub", b.let("cos", a), c),
            lambda: b.let("select", self.a_condition(scope), a, c),
            lambda: b.let(self.random.choice(("max", "min")), a, c),
            lambda: b.let("div", a, b.let("add", b.let("mul", c, c), const(1.0, f64))),
        )
        scope.floats.append(self.random.choice(forms)())

    def load(self, scope: Scope, at: Atom | None = None) -> None:
        var = self.builder.fresh("v", f64)
        self.builder.add(Load(var, X, (self.an_index(scope, 4) if at is None else at,)))
        scope.floats.append(var)

    def load_integer(self, scope: Scope) -> None:
        var = self.builder.fresh("m", i32)
        self.builder.add(Load(var, N, (self.an_index(scope, 4),)))
        scope.integers.append(var)

    def accumulate(self, scope: Scope) -> None:
        self.builder.add(Accumulate(Y, (self.an_index(scope, 4),), self.a_float(scope)))

    def alloc(self, scope: Scope) -> None:
        memory = Memory(self.builder.names.fresh("buffer"), f64, (3,), private=True)
        self.builder.add(Alloc(memory, (index(3),)))
        scope.buffers.append(memory)

    def touch(self, scope: Scope) -> None:
        if not scope.buffers:
            self.alloc(scope)
            return
        b, memory, at = self.builder, self.random.choice(scope.buffers), (self.an_index(scope, 3),)
        kind = self.random.choices(("load", "store", "add", "mul", "max"), (40, 25, 17, 9, 9))[0]
        var = b.fresh("old", f64)
        if kind == "load":
            b.add(Load(var, memory, at))
            scope.floats.append(var)
        elif kind == "store":
            b.add(Store(memory, at, self.a_float(scope)))
        elif self.random.random() < 0.3:
            b.add(Accumulate(memory, at, self.bounded(scope), kind, var))
            scope.floats.append(var)
        else:
            b.add(Accumulate(memory, at, self.bounded(scope), kind))

    def fresh(self, hint: str, count: int) -> tuple[Var, ...]:
        return tuple(self.builder.fresh(hint, f64) for _ in range(count))

    def branch(self, scope: Scope) -> None:
        cond, results = self.a_condition(scope), self.fresh("r", self.random.randrange(3))
        blocks = []
        for _ in range(2):
            inner = scope.inner()
            with self.builder.block() as made:
                self.statements(inner, self.random.randrange(4))
                yields = tuple(self.a_float(inner) for _ in results)
            blocks.append(Block(tuple(made), yields))
        self.builder.add(If(cond, blocks[0], blocks[1], results))
        scope.floats += results

    def counted_loop(self, scope: Scope) -> None:
        b, count = self.builder, self.random.randrange(3)
        i, carried, results = b.fresh("i", i32), self.fresh("c", count), self.fresh("s", count)
        start, stop, step = self.random.choice(RANGES)
        last: Atom = index(stop)
        if step == 1 and self.random.random() < 0.3:
            last = b.let("add", self.an_index(scope, 4), index(start))
        init = tuple(self.a_float(scope) for _ in carried)
        goes_on = b.fresh("go", u1) if self.random.random() < 0.4 else None
        inner = scope.inner()
        inner.floats += carried
        inner.integers.append(i)
        with b.block() as made:
            self.statements(inner, self.random.randrange(1, 5))
            yields = tuple(self.bounded(inner) for _ in carried)
            flag = () if goes_on is None else (self.a_condition(inner),)
        if goes_on is not None:
            carried, init, results = (*carried, goes_on), (*init, TRUE), (*results, b.fresh("went", u1))
        body = Block(tuple(made), (*yields, *flag))
        b.add(For(i, index(start), last, step, body, carried, init, results, goes_on))
        scope.floats += results[:count]

    def while_loop(self, scope: Scope) -> None:
        b, count = self.builder, self.random.randrange(1, 3)
        k, carried, results = b.fresh("k", i32), self.fresh("w", count), self.fresh("s", count)
        init = (*(self.a_float(scope) for _ in carried), index(0))
        limit = const(self.random.randrange(1, 4), i32)
        inner = scope.inner()
        inner.floats += carried
        inner.integers.append(k)
        with b.block() as test:
            low = b.let("lt", self.a_float(inner), const(0.8, f64))
            goes = b.let("band", b.let("lt", k, limit), low)
        with b.block() as made:
            self.statements(inner, self.random.randrange(1, 5))
            yields = (*(self.bounded(inner) for _ in carried), b.let("add", k, index(1)))
        last = b.fresh("k", i32)
        body = Block(tuple(made), yields)
        b.add(While(Block(tuple(test), (goes,)), body, (*carried, k), init, (*results, last)))
        scope.floats += results
        scope.integers.append(last)


class InPlace(Generator):
    """Kernels of one or two loops that overwrite what they read; some touch only one element a trip."""

    def kernel(self) -> KernelIR:
        b = self.builder
        for _ in range(self.random.choice((1, 1, 2))):
            p = b.fresh("p", i32)
            self.own = p if self.random.random() < 0.5 else None
            scope = Scope(integers=[p])
            with b.block() as body:
                self.load(scope, p)
                self.statements(scope, self.random.randrange(3, 9))
            b.add(For(p, index(0), index(4), 1, Block(tuple(body))))
        return number(KernelIR("k", (), (X, Y, N), b.close()))

    def an_index(self, scope: Scope, length: int) -> Atom:
        if length == 4 and self.own is not None:
            return self.own
        return super().an_index(scope, length)

    def makers(self) -> dict[Callable[[Scope], None], int]:
        return {
            **super().makers(),
            self.load: 12,
            self.accumulate: 0,
            self.touch: 6,
            self.alloc: 2,
            self.write: 16,
            self.write_integer: 8,
        }

    def load(self, scope: Scope, at: Atom | None = None) -> None:
        var = self.builder.fresh("v", f64)
        place = (self.an_index(scope, 4) if at is None else at,)
        self.builder.add(Load(var, self.random.choice((X, X, Y)), place))
        scope.floats.append(var)

    def write(self, scope: Scope) -> None:
        b, memory = self.builder, self.random.choice((X, X, Y))
        place, value = (self.an_index(scope, 4),), self.bounded(scope)
        kind = self.random.choices(("store", "add", "mul", "max", "min"), (45, 25, 15, 8, 7))[0]
        if kind == "store":
            b.add(Store(memory, place, value))
            return
        old = b.fresh("old", f64) if self.random.random() < 0.3 else None
        b.add(Accumulate(memory, place, value, kind, old))
        if old is not None:
            scope.floats.append(old)

    def write_integer(self, scope: Scope) -> None:
        b, place = self.builder, (self.an_index(scope, 4),)
        if self.random.random() < 0.4:
            b.add(Store(N, place, b.let("mod", self.an_integer(scope), const(4, i32))))
            return
        old = b.fresh("slot", i32) if self.random.random() < 0.6 else None
        b.add(Accumulate(N, place, const(1, i32), "add", old))
        if old is not None:
            scope.integers.append(old)
