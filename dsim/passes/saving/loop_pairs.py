"""Finds pairs of a forward loop, which saves residuals by trip, and the backward loop that reads them.

An adjoint runs a loop forward and saves the state before each trip, in memories whose `Alloc` saves by
``trip``; the backward loop reads them trip by trip. Both are in one block, since the backward sweep of a
branch or loop has a block of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from dsim.ir.nodes import (
    Accumulate,
    Alloc,
    Append,
    Assert,
    Atom,
    Block,
    Const,
    For,
    Let,
    Load,
    Memory,
    MemoryKey,
    Print,
    RollBack,
    Statement,
    Store,
    UndoLog,
    Var,
    While,
)
from dsim.ir.ranges import known_trips
from dsim.ir.walk import blocks, memory_of, statements, written
from dsim.passes.algebraic_simplification import Definitions, split

ENTRY = 16  # bytes per entry of an undo log


class LoopPair(NamedTuple):
    """A forward loop and its backward loop, in one block.

    Attributes
    ----------
    forward, backward : int
        Their positions in the block.
    areas : tuple of Alloc
        The buffers that trips save to; the first axis has the greatest possible trip count.
    logs : dict of Memory to Memory
        The undo logs made outside to which the forward loop appends, with their memories.
    marked : frozenset of MemoryKey
        Those of them that the backward loop rolls back to the start of each trip.
    buffers : tuple of Alloc
        The buffers made outside that the loop reads and writes without an undo log.
    """

    forward: int
    backward: int
    areas: tuple[Alloc, ...]
    logs: dict[Memory, Memory]
    marked: frozenset[MemoryKey]
    buffers: tuple[Alloc, ...]

    @property
    def most(self) -> Atom:
        """The greatest possible trip count."""
        return self.areas[0].shape[0]


def loop_pairs(block: Block, made: Mapping[MemoryKey, Alloc]) -> list[LoopPair]:
    """The pairs of loops directly in `block`; `made` has every `Alloc` of the kernel."""
    areas = [s for s in block.statements if isinstance(s, Alloc) and by_trip(s)]
    if not areas:
        return []
    inside = [_by_memory(s) for s in block.statements]
    pairs: dict[tuple[int, int], list[Alloc]] = {}
    for area in areas:
        key = area.memory.key
        users = [n for n, found in enumerate(inside) if key in found and block.statements[n] is not area]
        if len(users) == 2:
            pairs.setdefault((users[0], users[1]), []).append(area)
    found = (_pair(block, at, tuple(of), inside, made) for at, of in pairs.items())
    return [p for p in found if p is not None]


def by_trip(s: Statement) -> bool:
    """Whether `s` allocates a buffer with a residual per trip of a loop."""
    return isinstance(s, Alloc) and s.saves is not None and s.saves.by == "trip"


def _by_memory(s: Statement) -> dict[MemoryKey, list[Statement]]:
    found: dict[MemoryKey, list[Statement]] = {}
    for inner in statements(Block((s,))):
        memory = memory_of(inner)
        if memory is not None:
            found.setdefault(memory.key, []).append(inner)
    return found


def _pair(
    block: Block,
    at: tuple[int, int],
    areas: tuple[Alloc, ...],
    inside: list[dict[MemoryKey, list[Statement]]],
    made: Mapping[MemoryKey, Alloc],
) -> LoopPair | None:
    forward, backward = (block.statements[n] for n in at)
    if not isinstance(forward, For) or not isinstance(backward, For) or not _whole(backward):
        return None
    if len({a.shape[0] for a in areas}) != 1:
        return None
    counters = _counters(forward)
    for a in areas:
        stores, loads = (inside[n][a.memory.key] for n in at)
        if not all(isinstance(s, Store) and s.index[0] in counters for s in stores):
            return None
        if not all(isinstance(s, Load) and s.index[0] == backward.index for s in loads):
            return None
    body = list(statements(forward.body))
    logs = _logs(body)
    buffers = _state(body, {a.memory.key for a in areas}, made)
    if buffers is None:
        return None
    marked = _marked(backward, {a.memory.key for a in areas})
    return LoopPair(*at, areas, logs, marked, buffers)


def _whole(s: For) -> bool:
    """Whether `s` visits all trips, from the last one down to 0, or from 0 up in any order."""
    if s.goes_on is not None:
        return False
    if s.step == 1:
        return s.parallel and s.start == Const(0, s.index.type)
    return s.step == -1 and s.stop == Const(-1, s.index.type)


def _counters(s: For) -> set[Var]:
    """The variables that equal the trip number in the body of `s`."""
    lets: Definitions = {i.var.name: i for i in statements(s.body) if isinstance(i, Let)}
    found = {
        c
        for c, start, after in zip(s.carried, s.init, s.body.yields, strict=True)
        if c.type.is_integer and start == Const(0, c.type) and split(after, lets) == (c, 1)
    }
    return found | ({s.index} if s.start == Const(0, s.index.type) and s.step == 1 else set())


def _logs(body: Iterable[Statement]) -> dict[Memory, Memory]:
    body = list(body)
    own = {s.log for s in body if isinstance(s, UndoLog)}
    return {s.log: s.memory for s in body if isinstance(s, Append) and s.log not in own}


def _marked(backward: For, areas: set[MemoryKey]) -> frozenset[MemoryKey]:
    body = list(statements(backward.body))
    marks = {s.var for s in body if isinstance(s, Load) and s.memory.key in areas}
    return frozenset(s.log.key for s in body if isinstance(s, RollBack) and s.mark in marks)


def _state(
    body: list[Statement], areas: set[MemoryKey], made: Mapping[MemoryKey, Alloc]
) -> tuple[Alloc, ...] | None:
    """The buffers that carry state between trips without an undo log; None if trips cannot be repeated."""
    if any(isinstance(s, Print | Assert) for s in body):
        return None
    logged = {s.memory.key for s in body if isinstance(s, Append)}
    known = {s.memory.key for s in body if isinstance(s, Alloc)} | areas | logged
    changed = {m.key: m for m in map(written, body) if m is not None and m.key not in known}
    if any(not m.private for m in changed.values()):
        return None
    read: set[MemoryKey] = set()
    for s in body:
        if isinstance(s, Load) or (isinstance(s, Accumulate) and (s.op != "add" or s.old is not None)):
            read.add(s.memory.key)
    return tuple(made[key] for key in changed if key in read)


def appended_entries(block: Block) -> int | None:
    """The most entries that a run of `block` appends to undo logs; None if unknown."""
    total = 0
    for s in block.statements:
        inner = [appended_entries(b) for b in blocks(s)]
        if None in inner:
            return None
        each = int(isinstance(s, Append)) + sum(n for n in inner if n is not None)
        if each and isinstance(s, For | While):
            trips = known_trips(s) if isinstance(s, For) else None
            if trips is None:
                return None
            each *= trips
        total += each
    return total
