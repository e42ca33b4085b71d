"""Replaces the snapshots that an adjoint takes of large buffers by an undo log of the writes.

An adjoint takes a snapshot of a buffer before each branch and loop that writes it, and before each trip, and
restores it in the backward sweep. If a buffer is large and few of its elements are written, logging each
write is cheaper: a snapshot becomes a mark in the buffer's undo log, and a restore becomes a roll-back to
that mark. Every write is logged, so a mark stands for the whole buffer. Snapshots must be restored last in,
first out, as `Residual` guarantees.

Like `checkpoint_segments` it runs only on kernels that will be run: an adjoint that is differentiated again
keeps its snapshots.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from math import prod
from typing import NamedTuple

from dsim.ir.build import Builder, Names
from dsim.ir.nodes import (
    Accumulate,
    Alloc,
    Append,
    Atom,
    Block,
    Const,
    For,
    KernelIR,
    Load,
    LogMark,
    Memory,
    MemoryKey,
    Residual,
    RollBack,
    Statement,
    Store,
    UndoLog,
    Var,
)
from dsim.ir.types import i64
from dsim.ir.walk import blocks, bound_names, fields_of, memory_of, statements, with_blocks
from dsim.passes.dead_code_elimination import eliminate_dead_code
from dsim.passes.saving.loop_pairs import by_trip

_LARGE = 64  # entries
_FEW = 4  # a buffer needs this many entries per writing statement, or snapshots are cheaper


def snapshots_to_undo_log(kernel: KernelIR) -> KernelIR:
    """`kernel` with undo logs instead of snapshots of large buffers; itself if there are none.

    Parameters
    ----------
    kernel : KernelIR
        Simplified; not to be differentiated any more.
    """
    if not any(_snapshots(kernel)):
        return kernel
    snapshots = _Snapshots(kernel)
    if not snapshots.of:
        return kernel
    return eliminate_dead_code(replace(kernel, body=_Logger(kernel, snapshots).block(kernel.body)))


def _snapshots(kernel: KernelIR) -> Iterator[Alloc]:
    for s in statements(kernel.body):
        if isinstance(s, Alloc) and s.saves is not None and s.saves.what == "snapshot":
            yield s


class _Copy(NamedTuple):
    """A statement that copies all elements of one memory to another."""

    source: Memory
    source_at: tuple[Atom, ...]
    target: Memory
    target_at: tuple[Atom, ...]


def _copied(s: Statement, around: tuple[For, ...] = ()) -> tuple[_Copy, ...]:
    """The copies that `s` makes if it does nothing else: loops over all axes around loads and stores."""
    if not isinstance(s, For) or s.carried or s.step != 1 or s.start != Const(0, s.index.type):
        return ()
    around, body = (*around, s), s.body.statements
    if len(body) == 1:
        return _copied(body[0], around)
    axes = tuple(f.index for f in around)
    lengths = tuple(f.stop.value if isinstance(f.stop, Const) else None for f in around)
    loads: dict[Atom, Load] = {}
    found: list[_Copy] = []
    for inner in body:
        if not isinstance(inner, Load | Store) or inner.index[-len(axes) :] != axes:
            return ()
        if None in lengths or inner.memory.shape[-len(axes) :] != lengths:
            return ()
        at = inner.index[: -len(axes)]
        if isinstance(inner, Load):
            loads[inner.var] = inner
        elif inner.value in loads:
            source = loads[inner.value]
            found.append(_Copy(source.memory, source.index[: -len(axes)], inner.memory, at))
        else:
            return ()
    return tuple(found)


class _Snapshots:
    """The snapshots that become marks, and their buffers.

    Attributes
    ----------
    made : dict of MemoryKey to Alloc
        All snapshots of the kernel.
    buffers : dict of MemoryKey to Memory
        The buffer that each of them is of.
    of : dict of MemoryKey to Memory
        The buffer of each snapshot that becomes a mark.
    """

    def __init__(self, kernel: KernelIR) -> None:
        self.made = {s.memory.key: s for s in _snapshots(kernel)}
        self.buffers = {key: s.saves.of for key, s in self.made.items() if s.saves and s.saves.of}
        self.of: dict[MemoryKey, Memory] = {}
        self._taken: dict[MemoryKey, int] = {}  # the number of statements that take each snapshot
        self._writes: dict[MemoryKey, int] = {}  # the number of statements in inner blocks that write each
        self._together: list[set[MemoryKey]] = []  # per copy loop, the memories that it copies from and to
        self._refused: set[MemoryKey] = set()
        self._scan(kernel.body)
        self._choose(_large_buffers(kernel))

    def _choose(self, buffers: set[MemoryKey]) -> None:
        """Chooses the snapshots that become marks; of those that one loop copies together, all or none."""
        for key, memory in self.buffers.items():
            if memory.key not in buffers or key in self._refused or self._taken.get(key) != 1:
                continue
            if self._writes.get(memory.key, 0) * _FEW <= prod(n or 0 for n in memory.shape):
                self.of[key] = memory
        while True:
            found = [keys & self.made.keys() for keys in self._together]
            parted = {key for keys in found if not keys <= self.of.keys() for key in keys & self.of.keys()}
            if not parted:
                return
            for key in parted:
                del self.of[key]

    def _scan(self, block: Block) -> None:
        own = {s.memory.key for s in block.statements if isinstance(s, Alloc)}
        for s in block.statements:
            copies = _copied(s)
            if copies and all(self._is_of_snapshot(c) for c in copies):
                for c in copies:
                    self._note(c, block)
                self._together.append({c.source.key for c in copies} | {c.target.key for c in copies})
                continue
            memory = memory_of(s)
            if memory is not None and memory.key in self.made and not isinstance(s, Alloc):
                self._refused.add(memory.key)
            if isinstance(s, Store | Accumulate) and s.memory.key not in own:
                self._writes[s.memory.key] = self._writes.get(s.memory.key, 0) + 1
            for inner in blocks(s):
                self._scan(inner)

    def _is_of_snapshot(self, c: _Copy) -> bool:
        """Whether `c` takes or restores a snapshot."""
        return (c.target.key in self.made) != (c.source.key in self.made)

    def _note(self, c: _Copy, block: Block) -> None:
        takes = c.target.key in self.made
        snapshot, memory, at = (
            (c.target, c.source, c.source_at) if takes else (c.source, c.target, c.target_at)
        )
        key = snapshot.key
        if at or self.buffers.get(key) != memory:
            self._refused.add(key)
        if takes:
            self._taken[key] = self._taken.get(key, 0) + 1
            made = self.made[key]
            if not by_trip(made) and not any(s is made for s in block.statements):
                self._refused.add(key)


def _large_buffers(kernel: KernelIR) -> set[MemoryKey]:
    """Large buffers, but none beside parallel loops over fields, which an undo log would make serial."""
    top = kernel.body.statements
    shared = any(isinstance(s, For) and s.parallel and fields_of(s.body) for s in top)
    return {
        s.memory.key
        for s in statements(kernel.body)
        if isinstance(s, Alloc) and _large(s.memory) and not (shared and any(s is t for t in top))
    }


def _large(m: Memory) -> bool:
    return m.private and None not in m.shape and prod(n or 0 for n in m.shape) >= _LARGE


class _Logger:
    def __init__(self, kernel: KernelIR, snapshots: _Snapshots) -> None:
        self.b = Builder(Names(bound_names(kernel)))
        self.of, self.made = snapshots.of, snapshots.made
        self.logs = {
            m.key: Memory(self.b.names.fresh(f"{m.name}_log"), m.type, (None,), private=True)
            for m in dict.fromkeys(self.of.values())
        }
        self.unmarked: set[MemoryKey] = set()  # buffers without a mark so far
        self.marks: dict[
            MemoryKey, Var | Memory
        ] = {}  # by snapshot: the mark, or the memory with those of all trips

    def block(self, block: Block) -> Block:
        made = {s.memory.key for s in block.statements if isinstance(s, Alloc)} & self.logs.keys()
        self.unmarked |= made  # no roll-back targets a point before the first mark
        with self.b.block() as out:
            for s in block.statements:
                if self.unmarked:
                    self.unmarked -= {self.of[key].key for key in self.saved_in(s)}
                with self.b.at(s.origin):
                    self.statement(s)
        self.unmarked -= made
        return Block(tuple(out), block.yields)

    def saved_in(self, s: Statement) -> set[MemoryKey]:
        """The keys of the snapshots that `s` takes."""
        written = (i.memory.key for i in statements(Block((s,))) if isinstance(i, Store))
        return {key for key in written if key in self.of}

    def statement(self, s: Statement) -> None:
        copies = _copied(s)
        if copies and all(c.target.key in self.of or c.source.key in self.of for c in copies):
            for c in copies:
                if c.target.key in self.of:
                    self.take(c.target, c.target_at)
                else:
                    self.restore(c.source, c.source_at)
        elif isinstance(s, Alloc):
            self.alloc(s)
        elif isinstance(s, Store | Accumulate) and s.memory.key in self.logs.keys() - self.unmarked:
            self.b.add(Append(self.logs[s.memory.key], s.memory, s.index, s.origin))
            self.b.add(s)
        else:
            self.b.add(_in_order(with_blocks(s, self.block), self.logs.values()))

    def alloc(self, s: Alloc) -> None:
        key = s.memory.key
        if key not in self.of:
            self.b.add(s)
        elif by_trip(s):
            area = Memory(self.b.names.fresh(f"{s.memory.name}_mark"), i64, (None,), private=True)
            self.marks[key] = area
            saves = Residual("marks", by="trip", of=self.of[key])
            self.b.add(Alloc(area, s.shape[:1], s.origin, saves))
        if key in self.logs:
            self.b.add(UndoLog(self.logs[key], s.memory, s.origin))

    def take(self, snapshot: Memory, at: tuple[Atom, ...]) -> None:
        mark = self.b.fresh(f"{snapshot.name}_mark", i64)
        self.b.add(LogMark(mark, self.logs[self.of[snapshot.key].key], self.b.origin))
        if by_trip(self.made[snapshot.key]):
            area = self.marks[snapshot.key]
            assert isinstance(area, Memory)
            self.b.add(Store(area, at, mark, self.b.origin))
        else:
            self.marks[snapshot.key] = mark

    def restore(self, snapshot: Memory, at: tuple[Atom, ...]) -> None:
        mark, memory = self.marks[snapshot.key], self.of[snapshot.key]
        if isinstance(mark, Memory):
            loaded = self.b.fresh(mark.name, i64)
            self.b.add(Load(loaded, mark, at, self.b.origin))
            mark = loaded
        self.b.add(RollBack(self.logs[memory.key], memory, mark, self.b.origin))


def _in_order(s: Statement, logs: Iterable[Memory]) -> Statement:
    """`s`, made serial if it is a loop that appends to one of `logs`, which are made outside of it."""
    if not isinstance(s, For) or not s.parallel:
        return s
    inside = list(statements(s.body))
    own = {i.log for i in inside if isinstance(i, UndoLog)}
    if any(isinstance(i, Append) and i.log in logs and i.log not in own for i in inside):
        return replace(s, parallel=False)
    return s
