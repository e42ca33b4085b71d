"""Handwritten kernels for tests: a builder with loops, branches and memories in readable Python."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

from dsim.ir.build import Builder, const, index
from dsim.ir.check import check
from dsim.ir.nodes import (
    Accumulate,
    AccumulateOp,
    Alloc,
    Assert,
    Atom,
    Block,
    For,
    If,
    KernelIR,
    Load,
    Memory,
    Print,
    Store,
    Var,
    While,
)
from dsim.ir.sites import number
from dsim.ir.term import Term
from dsim.ir.types import ScalarType, f64, i32, u1
from dsim.ir.walk import statements

Value = Term | Atom | float


class Building(Builder):
    """A kernel under construction; `kernel()` ends it, numbered and checked."""

    def __init__(self, name: str = "k", float_type: ScalarType = f64) -> None:
        super().__init__()
        self.name = name
        self.float_type = float_type
        self.params: list[Var] = []

    def value(self, v: Value, type: ScalarType | None = None) -> Atom:
        """An atom: of a Python number, a constant of `type` (bool, i32 or the float type if None)."""
        if isinstance(v, Term):
            return v.atom
        if isinstance(v, int | float):
            usual = u1 if isinstance(v, bool) else i32 if isinstance(v, int) else self.float_type
            return const(v, type or usual)
        return v

    def places(self, index: tuple[Value, ...]) -> tuple[Atom, ...]:
        return tuple(map(self.value, index))

    def param(self, name: str, type: ScalarType | None = None) -> Term:
        var = self.fresh(name, type or self.float_type)
        self.params.append(var)
        return self.term(var)

    def field(
        self, name: str, *shape: int, type: ScalarType | None = None, entries: int = 0, derivative: tuple = ()
    ) -> Memory:
        self.names.fresh(name)
        return Memory(name, type or self.float_type, shape, entries, derivative)

    def buffer(self, name: str, *shape: Value, type: ScalarType | None = None) -> Memory:
        lengths = tuple(map(self.value, shape))
        known = tuple(n if isinstance(n, int) else None for n in shape)
        memory = Memory(self.names.fresh(name), type or self.float_type, known, private=True)
        self.add(Alloc(memory, lengths, self.origin))
        return memory

    def load(self, m: Memory, *index: Value, hint: str = "") -> Term:
        var = self.fresh(hint or f"{m.name}_at", m.type)
        self.add(Load(var, m, self.places(index), self.origin))
        return self.term(var)

    def store(self, m: Memory, *rest: Value) -> None:
        """``store(m, i, j, value)``."""
        *index, value = rest
        self.add(Store(m, self.places(tuple(index)), self.value(value, m.type), self.origin))

    def accumulate(self, m: Memory, *rest: Value, op: AccumulateOp = "add") -> None:
        """``accumulate(m, i, j, value)``."""
        *index, value = rest
        self.add(Accumulate(m, self.places(tuple(index)), self.value(value, m.type), op, None, self.origin))

    def swap_in(self, m: Memory, *rest: Value, op: AccumulateOp = "add") -> Term:
        """An accumulation whose value before is used."""
        *index, value = rest
        old = self.fresh("old", m.type)
        self.add(Accumulate(m, self.places(tuple(index)), self.value(value, m.type), op, old, self.origin))
        return self.term(old)

    def say(self, *parts: str | Term) -> None:
        self.add(Print(tuple(p.atom if isinstance(p, Term) else p for p in parts), "\n", self.origin))

    def insist(self, cond: Term, *parts: str | Term) -> None:
        self.add(Assert(cond.atom, tuple(p.atom if isinstance(p, Term) else p for p in parts), self.origin))

    @contextmanager
    def loop(
        self, name: str, start: Value, stop: Value, *, step: int = 1, goes_on: str = "", **carried: Value
    ) -> Iterator[Loop]:
        """``with k.loop("i", 0, n, s=0.0) as loop: loop.then(s=loop.s + 1.0)``, later ``loop.out("s")``."""
        first, last = self.value(start), self.value(stop)
        loop = Loop(self, self.fresh(name, first.type), {n: self.value(v) for n, v in carried.items()})
        with self.block() as inner:
            yield loop
        made = For(
            loop.index,
            first,
            last,
            step,
            Block(tuple(inner), loop.yields()),
            loop.carried,
            loop.init,
            loop.results,
            loop.var(goes_on) if goes_on else None,
            origin=self.origin,
        )
        self.add(made)

    @contextmanager
    def repeat(self, condition: Callable[[Loop], Term], **carried: Value) -> Iterator[Loop]:
        """A `While`, as `loop`."""
        loop = Loop(self, None, {n: self.value(v) for n, v in carried.items()})
        with self.block() as test:
            goes = self.value(condition(loop))
        with self.block() as inner:
            yield loop
        body = Block(tuple(inner), loop.yields())
        self.add(While(Block(tuple(test), (goes,)), body, loop.carried, loop.init, loop.results, self.origin))

    def branch(
        self,
        cond: Term,
        then: Callable[[], tuple[Value, ...] | None],
        orelse: Callable[[], tuple[Value, ...] | None] = lambda: None,
        hint: str = "r",
    ) -> tuple[Term, ...]:
        """An `If`; the two functions append their blocks and give their yields."""
        blocks = []
        for arm in (then, orelse):
            with self.block() as inner:
                given = arm() or ()
            blocks.append(Block(tuple(inner), tuple(map(self.value, given))))
        results = tuple(self.fresh(hint, y.type) for y in blocks[0].yields)
        self.add(If(cond.atom, blocks[0], blocks[1], results, self.origin))
        return tuple(map(self.term, results))

    def kernel(self, *returns: Value) -> KernelIR:
        """The kernel, its memories those that it touches."""
        body = self.close(tuple(map(self.value, returns)))
        touched: dict[Memory, None] = {}
        for s in statements(body):
            if isinstance(s, Load | Store | Accumulate) and not s.memory.private:
                touched.setdefault(s.memory)
        kernel = number(KernelIR(self.name, tuple(self.params), tuple(touched), body))
        check(kernel)
        return kernel


class Loop:
    """A loop under construction: ``loop.i`` the index, ``loop.s`` what it carries."""

    def __init__(self, k: Building, index: Var | None, init: dict[str, Atom]) -> None:
        self._k = k
        self._index = index
        self._names = list(init)
        self.init = tuple(init.values())
        self.carried = tuple(k.fresh(n, a.type) for n, a in init.items())
        self.results = tuple(k.fresh(f"{n}_out", a.type) for n, a in init.items())
        self._next: dict[str, Value] = {}

    @property
    def index(self) -> Var:
        assert self._index is not None
        return self._index

    @property
    def i(self) -> Term:
        return self._k.term(self.index)

    def var(self, name: str) -> Var:
        return self.carried[self._names.index(name)]

    def __getattr__(self, name: str) -> Term:
        if name.startswith("_"):
            raise AttributeError(name)
        return self._k.term(self.var(name))

    def then(self, **values: Value) -> None:
        """What the carried values are in the next trip."""
        self._next |= values

    def yields(self) -> tuple[Atom, ...]:
        return tuple(self._k.value(self._next[n]) for n in self._names)

    def out(self, name: str) -> Term:
        """What the carried value is after the loop."""
        return self._k.term(self.results[self._names.index(name)])


def marked_parallel(kernel: KernelIR) -> KernelIR:
    """`kernel` with its top-level loops parallel."""
    done = tuple(replace(s, parallel=True) if isinstance(s, For) else s for s in kernel.body.statements)
    return replace(kernel, body=replace(kernel.body, statements=done))


__all__ = ["Building", "Loop", "index", "marked_parallel"]
