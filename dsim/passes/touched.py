"""Which elements of which memories the statements inside a branch or loop touch, all trips together."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

from dsim.ir.nodes import Accumulate, Alloc, Block, Kernel, Let, Load, MemoryKey, Statement, Store
from dsim.ir.walk import blocks
from dsim.passes.identities import Definitions
from dsim.passes.places import Place, place

Places = defaultdict[MemoryKey, set[Place]]


def _none() -> Places:
    return defaultdict(set)


@dataclass
class Touched:
    """The places read; those only added to, where nobody sees the value before; those written otherwise.

    A place may name variables that are bound inside. `made` are the private memories made inside.
    """

    read: Places = field(default_factory=_none)
    added: Places = field(default_factory=_none)
    stored: Places = field(default_factory=_none)
    made: set[MemoryKey] = field(default_factory=set)

    def writes(self) -> dict[MemoryKey, set[Place]]:
        """Everything written."""
        keys = self.added.keys() | self.stored.keys()
        return {key: self.added.get(key, set()) | self.stored.get(key, set()) for key in keys}

    def include(self, other: Touched) -> None:
        """Adds what `other` has."""
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


def touched(kernel: Kernel) -> dict[int, Touched]:
    """What each statement of `kernel` that holds blocks touches, by the statement's `id`."""
    found: dict[int, Touched] = {}
    _scan(kernel.body, {}, found, Touched())
    return found


def _scan(block: Block, made: Definitions, found: dict[int, Touched], into: Touched) -> None:
    for s in block.statements:
        match s:
            case Let():
                made[s.var.name] = s
            case Load() | Store() | Accumulate():
                into.note(s, place(s.index, made))
            case Alloc():
                into.made.add(s.memory.key)
            case _:
                _inside(s, made, found, into)


def _inside(s: Statement, made: Definitions, found: dict[int, Touched], into: Touched) -> None:
    inner = blocks(s)
    if inner:
        own = found[id(s)] = Touched()
        for b in inner:
            _scan(b, made, found, own)
        into.include(own)
