"""Small kernels built by hand for the tests of the analyses."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from dsim.diagnostics import Source, Span
from dsim.ir.build import Builder
from dsim.ir.nodes import (
    NOWHERE,
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
    Origin,
    Statement,
    Store,
    Var,
    While,
)
from dsim.ir.sites import number
from dsim.ir.term import Term
from dsim.ir.types import ScalarType, f32, i32

Number = Term | int


class Program:
    """Builds one kernel, statement by statement; `text` is what its spans point into."""

    def __init__(self, text: str = "") -> None:
        self.b = Builder()
        self.source = Source("cell [1]", text)
        self.params: list[Var] = []
        self.memories: list[Memory] = []
        self._origin = NOWHERE
        self._splits: list[tuple[list[Statement], list[int]]] = []

    def param(self, name: str, type: ScalarType = i32) -> Term:
        var = self.b.fresh(name, type)
        self.params.append(var)
        return self.b.term(var)

    def field(
        self, name: str, *shape: int, entry: int = 0, type: ScalarType = f32, derivative: tuple[str, ...] = ()
    ) -> Memory:
        memory = Memory(name, type, shape, entry, derivative)
        self.memories.append(memory)
        return memory

    def private(self, name: str, length: Number, type: ScalarType = f32) -> Memory:
        memory = Memory(self.b.names.fresh(name), type, (None,), private=True)
        self.b.add(Alloc(memory, (self.atom(length),)))
        return memory

    def line(self, line: int) -> None:
        """Statements from here on stand in this line of the text."""
        width = len(self.source.line(line))
        self._origin = Origin(Span(self.source, line, 0, line, width))

    def atom(self, x: Number | float, type: ScalarType = i32) -> Atom:
        return x.atom if isinstance(x, Term) else Const(x, type)

    def index(self, at: tuple[Number, ...]) -> tuple[Atom, ...]:
        return tuple(map(self.atom, at))

    def load(self, memory: Memory, *at: Number, name: str = "v") -> Term:
        var = self.b.fresh(name, memory.type)
        self.b.add(Load(var, memory, self.index(at), self._origin))
        return self.b.term(var)

    def store(self, memory: Memory, *at: Number, value: Term | float = 1.0) -> None:
        self.b.add(Store(memory, self.index(at), self.atom(value, memory.type), self._origin))

    def add(
        self, memory: Memory, *at: Number, value: Term | float = 1.0, op: str = "add", old: bool = False
    ) -> Term:
        var = self.b.fresh("old", memory.type) if old else None
        value_atom = self.atom(value, memory.type)
        self.b.add(Accumulate(memory, self.index(at), value_atom, op, var, self._origin))  # type: ignore[arg-type]
        return self.b.term(var if var is not None else value_atom)

    @contextmanager
    def loop(
        self, name: str, start: Number, stop: Number, step: int = 1, carry: dict[str, Term] | None = None
    ) -> Iterator[Term]:
        """A loop; with `carry`, `self.carried` are the values in it and `self.yields` to be set."""
        index = self.b.fresh(name, i32)
        init = tuple(t.atom for t in (carry or {}).values())
        carried = tuple(self.b.fresh(n, t.type) for n, t in (carry or {}).items())
        self.carried, self.yields = [self.b.term(c) for c in carried], []
        ends = self.atom(start), self.atom(stop)
        origin = self._origin
        with self.b.block() as inside:
            yield self.b.term(index)
        results = tuple(self.b.fresh(c.name, c.type) for c in carried)
        body = Block(tuple(inside), tuple(y.atom for y in self.yields))
        self.b.add(For(index, *ends, step, body, carried, init, results, origin=origin))
        self.results = [self.b.term(r) for r in results]

    @contextmanager
    def repeat(self) -> Iterator[None]:
        """A `While` whose condition reads nothing that is known."""
        flag = self.field("flag", type=i32)
        with self.b.block() as before:
            more = self.load(flag) > 0
        with self.b.block() as inside:
            yield
        self.b.add(While(Block(tuple(before), (more.atom,)), Block(tuple(inside))))

    @contextmanager
    def when(self, condition: Term) -> Iterator[None]:
        with self.b.block() as inside:
            yield
        self.b.add(If(condition.atom, Block(tuple(inside)), Block(())))

    @contextmanager
    def either(self, condition: Term) -> Iterator[None]:
        """Two branches: what is built before and after `self.otherwise()`."""
        with self.b.block() as inside:
            self._splits.append((inside, []))
            yield
        _, split = self._splits.pop()
        at = split[0] if split else len(inside)
        self.b.add(If(condition.atom, Block(tuple(inside[:at])), Block(tuple(inside[at:]))))

    def otherwise(self) -> None:
        inside, split = self._splits[-1]
        split.append(len(inside))

    def kernel(self) -> KernelIR:
        return number(KernelIR("k", tuple(self.params), tuple(self.memories), self.b.close()))
