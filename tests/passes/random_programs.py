"""Random kernels for passes: all accesses go to the same few memories, with many repeated expressions.

Floats are whole numbers kept small, so that sums are exact in any order. Indices are in range, or are
`i - 1` and `i + 1` behind the branch that makes them so.
"""

from __future__ import annotations

import random

import numpy as np

from dsim.ir.nodes import KernelIR, Memory, MemoryKey
from dsim.ir.term import Term
from dsim.ir.types import f64, i32
from tests.building import Building

SIZE = 4
NUMBERS, ENTRIES = (-1.0, 0.0, 1.0, 2.0, 3.0), (0, 1)


class Program:
    """One kernel from one seed: `kernel`, and `buffers()` and `arguments` to run it on."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.seed = seed
        k = self.k = Building("k", f64)
        self.fields = [k.field("x", SIZE), k.field("v", SIZE, 2, entries=1)]
        self.counts = k.field("n", SIZE, type=i32)
        self.sum = k.field("total")
        p, m = k.param("p"), k.param("m", i32)
        self.floats, self.integers = [p], [m]
        self.buffers_here: list[Memory] = []
        self.depth = 0
        self.left = 70
        self.statements(8)
        self.kernel: KernelIR = k.kernel(self.a_float(), self.an_integer())
        self.arguments = (2.0, self.random.randrange(-1, 5))

    def buffers(self) -> dict[MemoryKey, np.ndarray]:
        rng = np.random.default_rng(self.seed)
        return {
            m.key: rng.integers(-3, 4, m.shape).astype(m.type.numpy)
            for m in (*self.fields, self.counts, self.sum)
        }

    # values

    def a_float(self) -> Term:
        if self.random.random() < 0.2:
            return self.k.term(self.k.value(self.random.choice(NUMBERS)))
        return self.random.choice(self.floats[-6:])

    def an_integer(self) -> Term:
        if self.random.random() < 0.2:
            return self.k.term(self.k.value(self.random.randrange(-2, 4)))
        return self.random.choice(self.integers[-5:])

    def condition(self) -> Term:
        of = self.random.choice((self.a_float, self.an_integer))
        found = of().op(self.random.choice(("lt", "ge", "eq", "ne")), of())
        if self.random.random() < 0.3:
            found = found.op(self.random.choice(("band", "bor")), found.op("bnot"))
        return found

    def element(self) -> tuple[Memory, tuple]:
        memory = self.random.choice([*self.fields, *self.fields, self.sum, *self.buffers_here])
        if not memory.shape:
            return memory, ()
        at = self.an_integer().op("mod", SIZE) if self.random.random() < 0.7 else self.random.randrange(SIZE)
        return memory, (at, self.random.choice(ENTRIES)) if len(memory.shape) == 2 else (at,)

    # statements

    def statements(self, count: int) -> None:
        plain = (
            self.expression,
            self.integer,
            self.load,
            self.twice,
            self.store,
            self.add,
            self.update,
            self.buffer,
        )
        weights = (5, 3, 5, 3, 2, 6, 2, 1)
        for _ in range(self.random.randrange(1, count)):
            self.left -= 1
            if self.depth < 4 and self.left > 0 and self.random.random() < 0.35:
                self.random.choice((self.loop, self.loop, self.branch, self.guarded, self.repeat))()
            else:
                self.random.choices(plain, weights)[0]()

    def expression(self) -> None:
        a, b = self.a_float(), self.a_float()
        op = self.random.choice(
            ("add", "sub", "mul", "max", "min", "neg", "abs", "select", "mul_strong", "div_strong", "floor")
        )
        if op in ("neg", "abs", "floor"):
            made = a.op(op)
        elif op == "select":
            made = self.condition().op("select", a, b)
        else:
            made = a.op(op, b).op("mod", 17.0)
        self.floats.append(made)

    def integer(self) -> None:
        a, b = self.an_integer(), self.an_integer()
        op = self.random.choice(("add", "sub", "mul", "min", "floordiv", "mod", "neg", "bxor"))
        self.integers.append(a.op("neg") if op == "neg" else a.op(op, b).op("mod", 50))

    def load(self) -> None:
        if self.random.random() < 0.3:
            self.integers.append(self.k.load(self.counts, self.an_integer().op("mod", SIZE)))
        else:
            memory, at = self.element()
            self.floats.append(self.k.load(memory, *at))

    def twice(self) -> None:
        """The same load and the same expression again."""
        memory, at = self.element()
        a, b = self.k.load(memory, *at), self.a_float()
        self.statements(2)
        self.floats.append(((self.k.load(memory, *at) - b) * (a - b)).op("mod", 17.0))

    def store(self) -> None:
        if self.random.random() < 0.2:
            self.k.store(self.counts, self.an_integer().op("mod", SIZE), self.an_integer())
        else:
            memory, at = self.element()
            self.k.store(memory, *at, self.a_float())

    def add(self) -> None:
        memory, at = self.element()
        for _ in range(self.random.randrange(1, 3)):
            self.k.accumulate(memory, *at, self.a_float())

    def update(self) -> None:
        memory, at = self.element()
        op = self.random.choice(("add", "min", "max"))
        if self.random.random() < 0.5:
            self.floats.append(self.k.swap_in(memory, *at, self.a_float(), op=op).op("mod", 17.0))
        else:
            self.k.accumulate(memory, *at, self.a_float(), op=op)

    def buffer(self) -> None:
        self.buffers_here.append(self.k.buffer("b", SIZE))

    # what holds statements

    def inside(self) -> tuple[list, list, list]:
        self.depth += 1
        saved = self.floats, self.integers, self.buffers_here
        self.floats, self.integers, self.buffers_here = list(saved[0]), list(saved[1]), list(saved[2])
        return saved

    def outside(self, saved: tuple[list, list, list]) -> None:
        self.depth -= 1
        self.floats, self.integers, self.buffers_here = saved

    def loop(self) -> None:
        start, stop, step = self.random.choice(
            ((0, 4, 1), (0, self.an_integer(), 1), (3, -1, -1), (1, 2, 1), (0, 0, 1))
        )
        if isinstance(stop, Term):
            stop = stop.op("min", 4)
        flagged = self.random.random() < 0.2
        carried = {"a": self.a_float(), "b": self.a_float(), "c": 0} | ({"go": True} if flagged else {})
        saved = self.inside()
        with self.k.loop("i", start, stop, step=step, goes_on="go" if flagged else "", **carried) as loop:
            self.floats += [loop.a, loop.b]
            self.integers += [loop.c, loop.i]
            self.statements(5)
            a, b = self.random.choice(
                ((loop.b, loop.a), (loop.a, self.a_float()), (self.a_float(), self.a_float()))
            )
            count = self.random.choice((loop.c, loop.c + 1, loop.c - 1))
            loop.then(a=a, b=b, c=count, **({"go": self.condition()} if flagged else {}))
        self.outside(saved)
        self.floats += [loop.out("a"), loop.out("b")]
        self.integers.append(loop.out("c"))

    def repeat(self) -> None:
        saved = self.inside()
        with self.k.repeat(lambda w: w.c < self.random.randrange(4), a=self.a_float(), c=0) as loop:
            self.floats.append(loop.a)
            self.integers.append(loop.c)
            self.statements(4)
            loop.then(a=self.a_float(), c=loop.c + 1)
        self.outside(saved)
        self.floats.append(loop.out("a"))

    def branch(self) -> None:
        def arm() -> tuple[Term, Term]:
            saved = self.inside()
            self.statements(4)
            given = self.a_float(), self.a_float()
            self.outside(saved)
            return given

        condition = self.condition()
        if self.random.random() < 0.2:
            condition = self.random.choice((condition, self.k.term(self.k.value(True))))
        self.floats += self.k.branch(condition, arm, arm)

    def guarded(self) -> None:
        """Neighbours, reached only where they exist."""
        i, x = self.an_integer(), self.fields[0]

        def neighbour() -> None:
            self.k.accumulate(x, i - 1, self.a_float())
            self.k.accumulate(self.fields[1], i - 1, 0, self.k.load(x, i - 1))

        self.k.branch((i > 0).op("band", i < SIZE), neighbour)
