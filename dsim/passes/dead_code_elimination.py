"""Removes what nothing depends on.

Gone are values that are not used, private memories that are not read (with all that is written to them),
carried values and results of branches that are not needed, and loops and branches without effect. What stays
is what the kernel's effects and return values depend on: stores and accumulations to fields, rewinding a
field, prints and asserts are effects. It marks from there, so that a cycle of values that need only each
other (a counter that nobody reads) goes too; time is linear in the kernel's size. A `While` that may never
end is an effect as well: a launch that would go on for ever must not come back with the work behind it done.

Not its job: finding out that two values are equal (`common_subexpression_elimination`), or constants
(`constant_folding`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace
from typing import assert_never

from dsim.ir.nodes import (
    Accumulate,
    Alloc,
    Append,
    Assert,
    Atom,
    Block,
    Call,
    Compact,
    Derive,
    For,
    If,
    Kernel,
    Let,
    Load,
    LogMark,
    Memory,
    MemoryKey,
    Print,
    Probe,
    RollBack,
    Statement,
    Store,
    UndoLog,
    Var,
    While,
)
from dsim.ir.walk import binds, blocks, operands, parameters, with_blocks, written
from dsim.passes.renaming import pick


def eliminate_dead_code(kernel: Kernel) -> Kernel:
    """`kernel` without what neither its effects nor its return values depend on.

    Memories that are no longer touched leave `kernel.memories`.
    """
    marks = _Marks(kernel)
    body = _Sweep(marks).block(kernel.body)
    keys = marks.touched
    memories = tuple(m for m in kernel.memories if m.key in keys)
    return replace(kernel, body=body, memories=memories)


class _Marks:
    """Which statements are alive, and which of the values that branches and loops hand on.

    Statements are numbered in the order in which `_Sweep` meets them again. A slot (n, k) is the k-th
    result of statement n, for a loop together with its k-th carried value.
    """

    def __init__(self, kernel: Kernel) -> None:
        self.nodes: list[Statement] = []
        self.holder: list[int] = []  # the statement around each, -1 at the top
        self.end: list[int] = []  # one past the last statement inside each
        self.bound: dict[str, tuple[int, int]] = {}  # variable → its statement and slot
        self.writes: dict[MemoryKey, list[int]] = defaultdict(list)
        self.allocs: dict[MemoryKey, int] = {}
        self._number(kernel.body, -1)

        self.alive = bytearray(len(self.nodes))
        self.slots: set[tuple[int, int]] = set()
        self.needed: set[str] = set()
        self.touched: set[MemoryKey] = set()
        self.read: set[MemoryKey] = set()  # private memories whose values matter
        self._work: list[tuple[int, int]] = []  # slots to revive
        self._need(kernel.body.yields)
        for n, s in enumerate(self.nodes):
            if not isinstance(s, Let | Load) and (_has_effect(s) or self._may_never_end(n)):
                self._revive(n)
        self._settle()

    def _may_never_end(self, n: int) -> bool:
        """Whether statement `n` is a loop that may never end, and not in a call, which is a value."""
        s = self.nodes[n]
        if not isinstance(s, While) or s.ends:
            return False
        while n >= 0 and not isinstance(self.nodes[n], Call | Derive):
            n = self.holder[n]
        return n < 0

    def _number(self, block: Block, holder: int) -> None:
        for s in block.statements:
            n = len(self.nodes)
            self.nodes.append(s)
            self.holder.append(holder)
            self.end.append(n + 1)
            if isinstance(s, Let | Load):  # most are; the rest of this asks more
                self.bound[s.var.name] = (n, 0)
                continue
            self._bind(s, n)
            for inner in blocks(s):
                self._number(inner, n)
            self.end[n] = len(self.nodes)

    def _bind(self, s: Statement, n: int) -> None:
        for k, v in enumerate(binds(s)):
            self.bound[v.name] = (n, k)
        inside = parameters(s)
        carried = inside[1:] if isinstance(s, For) else inside
        if isinstance(s, For):
            self.bound[s.index.name] = (n, -1)
        for k, v in enumerate(carried):
            self.bound[v.name] = (n, k)
        changed = written(s)
        if changed is not None and changed.private:
            self.writes[changed.key].append(n)
        if isinstance(s, Append | Compact):
            self.writes[s.log.key].append(n)
        if isinstance(s, Alloc):
            self.allocs[s.memory.key] = n
        if isinstance(s, UndoLog):
            self.allocs[s.log.key] = n

    # marking, by a list of work instead of recursion: chains of values are long

    def _settle(self) -> None:
        while self._work:
            self._revive_slot(*self._work.pop())

    def _need(self, atoms: Iterable[Atom]) -> None:
        for a in atoms:
            if isinstance(a, Var) and a.name not in self.needed:
                self.needed.add(a.name)
                where = self.bound.get(a.name)
                if where is not None:  # else a parameter of the kernel
                    self._work.append(where)

    def _revive_slot(self, n: int, k: int) -> None:
        self._revive(n)
        if isinstance(self.nodes[n], Let | Load) or (n, k) in self.slots:
            return
        self.slots.add((n, k))
        match self.nodes[n]:
            case If(then=then, orelse=orelse) if k >= 0:
                self._need((then.yields[k], orelse.yields[k]))
            case For(init=init, body=body) | While(init=init, body=body) if k >= 0:
                self._need((init[k], body.yields[k]))
            case Accumulate(memory=memory) if k >= 0:
                self._read(memory)
            case Let() | Load() | Store() | Accumulate() | Alloc() | Probe() | Print() | Assert() | If():
                pass
            case For() | While() | UndoLog() | Append() | LogMark() | RollBack() | Compact() | Derive():
                pass
            case Call():
                pass
            case _ as never:
                assert_never(never)

    def _revive(self, n: int) -> None:
        while n >= 0 and not self.alive[n]:
            self.alive[n] = True
            s = self.nodes[n]
            self._need(s.args if isinstance(s, Let) else _controls(s))
            if isinstance(s, Load | Store | Accumulate | Append | RollBack | Compact | UndoLog | Probe):
                self._touch(s.memory)
            if isinstance(s, Load | Append):
                self._read(s.memory)
            if isinstance(s, Append | LogMark | RollBack | Compact):
                self._touch(s.log)
            if isinstance(s, UndoLog) and s.beside is not None:
                self._touch(s.beside)
            if isinstance(s, LogMark | RollBack):
                self._read(s.log)
            n = self.holder[n]

    def _touch(self, memory: Memory) -> None:
        self.touched.add(memory.key)
        if memory.private:
            self._work.append((self.allocs[memory.key], -1))

    def _read(self, memory: Memory) -> None:
        if memory.private and memory.key not in self.read:
            self.read.add(memory.key)
            self._work.extend((n, -1) for n in self.writes[memory.key])


def _has_effect(s: Statement) -> bool:
    match s:
        case Let() | Load() | Alloc() | If() | For() | While() | UndoLog() | Append() | LogMark() | Compact():
            return False
        case Derive() | Call():
            return False
        case Store(memory=m) | Accumulate(memory=m) | RollBack(memory=m):
            return not m.private
        case Print() | Assert() | Probe():
            return True
        case _:
            assert_never(s)


def _controls(s: Statement) -> tuple[Atom, ...]:
    """What `s` needs to run at all, whatever of its results is needed."""
    match s:
        case For(start=start, stop=stop, goes_on=goes_on):
            return (start, stop) if goes_on is None else (start, stop, goes_on)
        case While(condition=condition):
            return condition.yields
        case Derive(body=body):
            return (*operands(s), *body.yields)
        case Call():
            return (*s.args, *(y for b in blocks(s) for y in b.yields))
        case Let() | Load() | Store() | Accumulate() | Alloc() | Probe() | Print() | Assert() | If():
            return operands(s)
        case UndoLog() | Append() | LogMark() | RollBack() | Compact():
            return operands(s)
        case _:
            assert_never(s)


class _Sweep:
    """Copies what is alive; meets statements in the order of their numbers."""

    def __init__(self, marks: _Marks) -> None:
        self.marks = marks
        self.next = 0

    def block(self, block: Block, kept: tuple[int, ...] | None = None) -> Block:
        """The living part of `block`, with the yields numbered `kept` (None: all)."""
        statements: list[Statement] = []
        for s in block.statements:
            n = self.next
            if self.marks.alive[n]:
                self.next += 1
                statements.append(s if isinstance(s, Let | Load) else self.statement(s, n))
            else:
                self.next = self.marks.end[n]
        return Block(tuple(statements), block.yields if kept is None else pick(block.yields, kept))

    def statement(self, s: Statement, n: int) -> Statement:
        match s:
            case Store():
                return s
            case Accumulate(old=Var() as old) if old.name not in self.marks.needed:
                return replace(s, old=None)
            case If():
                kept = self.kept(n, len(s.results))
                then, orelse = self.block(s.then, kept), self.block(s.orelse, kept)
                return replace(s, then=then, orelse=orelse, results=pick(s.results, kept))
            case For() | While():
                return self.loop(s, n)
            case Let() | Load() | Accumulate() | Alloc() | Probe() | Print() | Assert() | UndoLog():
                return with_blocks(s, self.block)
            case Append() | LogMark() | RollBack() | Compact() | Derive() | Call():
                return with_blocks(s, self.block)
            case _:
                assert_never(s)

    def loop(self, s: For | While, n: int) -> Statement:
        kept = self.kept(n, len(s.carried))
        if isinstance(s, While):
            s = replace(s, condition=self.block(s.condition))
        return replace(
            s,
            body=self.block(s.body, kept),
            carried=pick(s.carried, kept),
            init=pick(s.init, kept),
            results=pick(s.results, kept),
        )

    def kept(self, n: int, count: int) -> tuple[int, ...]:
        return tuple(k for k in range(count) if (n, k) in self.marks.slots)
