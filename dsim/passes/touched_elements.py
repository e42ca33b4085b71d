"""The elements that the statements inside a branch or loop access, over all trips."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import assert_never

from dsim.ir.nodes import (
    Accumulate,
    Alloc,
    Append,
    Assert,
    Block,
    Call,
    Compact,
    Derive,
    For,
    If,
    KernelIR,
    Let,
    Load,
    LogMark,
    MemoryKey,
    Print,
    Probe,
    RollBack,
    Statement,
    Store,
    UndoLog,
    While,
)
from dsim.ir.walk import blocks
from dsim.passes.algebraic_simplification import Definitions
from dsim.passes.elements import Place, anywhere, place

Places = defaultdict[MemoryKey, set[Place]]


def _none() -> Places:
    return defaultdict(set)


@dataclass
class Touched:
    """The places read; those only added to, with the value before unused; those written otherwise.

    A place may refer to variables bound inside. `made` are the private memories made inside.
    """

    read: Places = field(default_factory=_none)
    added: Places = field(default_factory=_none)
    stored: Places = field(default_factory=_none)
    made: set[MemoryKey] = field(default_factory=set[MemoryKey])

    def writes(self) -> dict[MemoryKey, set[Place]]:
        """All places written, by memory."""
        keys = self.added.keys() | self.stored.keys()
        return {key: self.added.get(key, set()) | self.stored.get(key, set()) for key in keys}

    def include(self, other: Touched) -> None:
        """Adds the places of `other`."""
        for mine, others in ((self.read, other.read), (self.added, other.added), (self.stored, other.stored)):
            for key, places in others.items():
                mine[key] |= places
        self.made |= other.made

    def note(self, s: Load | Store | Accumulate, at: Place) -> None:
        """Adds one access."""
        if isinstance(s, Load):
            self.read[s.memory.key].add(at)
        elif isinstance(s, Accumulate) and s.op == "add" and s.old is None:
            self.added[s.memory.key].add(at)
        else:
            self.stored[s.memory.key].add(at)


class Touches:
    """The elements that branches and loops access; computed lazily and memoised."""

    def __init__(self, made: Definitions) -> None:
        self.made = made
        self.known: dict[int, tuple[Statement, Touched]] = {}  # by `id`; the statement is kept alive

    def of(self, s: Statement) -> Touched:
        """The elements that the blocks of `s` access."""
        if id(s) not in self.known:
            found = Touched()
            for b in blocks(s):
                self._scan(b, found)
            self.known[id(s)] = s, found
        return self.known[id(s)][1]

    def _scan(self, block: Block, into: Touched) -> None:
        for s in block.statements:
            match s:
                case Let():
                    if s.var.type.is_integer:
                        self.made[s.var.name] = s
                case Load() | Store() | Accumulate():
                    into.note(s, place(s.index, self.made))
                case Alloc():
                    into.made.add(s.memory.key)
                case Append():
                    into.read[s.memory.key].add(place(s.index, self.made))
                case RollBack():
                    into.stored[s.memory.key].add(anywhere(s.memory))
                case Print() | Assert() | Probe() | UndoLog() | LogMark() | Compact():
                    pass
                case If() | For() | While() | Derive() | Call():
                    into.include(self.of(s))
                case _:
                    assert_never(s)


def has_inner_loops(kernel: KernelIR) -> bool:
    """Whether the kernel has nested loops."""
    return any(_has_loops(s, isinstance(s, For | While)) for s in kernel.body.statements)


def _has_loops(s: Statement, inside: bool) -> bool:
    for b in blocks(s):
        for inner in b.statements:
            if isinstance(inner, Let | Load | Store | Accumulate):
                continue
            loop = isinstance(inner, For | While)
            if (loop and inside) or _has_loops(inner, inside or loop):
                return True
    return False
