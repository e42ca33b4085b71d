"""Dead code elimination (DCE).

It removes unused values, private memories that are not read (with all writes to them), dead carried values
and dead results of branches, and loops and branches without effect. Live is what the kernel's effects and
return values depend on; effects are stores and accumulations to fields, roll-backs of fields, prints and
asserts. It marks live statements from there and then sweeps, so that dead cycles (a counter that is never
read) go too; time is linear in the kernel's size. A `While` that may not terminate is an effect too: a
launch that would not return must not return with the work after the loop done.

Not its job: proving two values equal (`common_subexpression_elimination`), or constants
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
    KernelIR,
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


def eliminate_dead_code(kernel: KernelIR) -> KernelIR:
    """`kernel` without dead code: its effects and return values do not depend on what is removed.

    Memories that are no longer accessed are removed from `kernel.memories`.
    """
    marks = _Marks(kernel)
    body = _Sweep(marks).block(kernel.body)
    keys = marks.touched
    memories = tuple(m for m in kernel.memories if m.key in keys)
    return replace(kernel, body=body, memories=memories)


class _Marks:
    """Liveness of statements, and of the results and carried values of branches and loops.

    Statements are numbered in the order in which `_Sweep` visits them. A slot (n, k) is the k-th
    result of statement n, for a loop together with its k-th carried value.
    """

    def __init__(self, kernel: KernelIR) -> None:
        self.nodes: list[Statement] = []
        self.holder: list[int] = []  # the enclosing statement of each, -1 at the top
        self.end: list[int] = []  # one past the last statement inside each
        self.bound: dict[str, tuple[int, int]] = {}  # variable → its statement and slot
        self.writes: dict[MemoryKey, list[int]] = defaultdict(list)
        self.allocs: dict[MemoryKey, int] = {}
        self._number(kernel.body, -1)

        self.alive = bytearray(len(self.nodes))
        self.slots: set[tuple[int, int]] = set()
        self.needed: set[str] = set()
        self.touched: set[MemoryKey] = set()
        self.read: set[MemoryKey] = set()  # private memories that live statements read
        self._work: list[tuple[int, int]] = []  # worklist of slots to mark live
        self._need(kernel.body.yields)
        for n, s in enumerate(self.nodes):
            if not isinstance(s, Let | Load) and (_has_effect(s) or self._may_never_end(n)):
                self._revive(n)
        self._settle()

    def _may_never_end(self, n: int) -> bool:
        """Whether statement `n` is a loop that may not terminate, outside of calls, which are pure values."""
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
            if isinstance(s, Let | Load):  # most statements; the rest of the body does not apply to these
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

    # marking, by a worklist, since def-use chains are too long for recursion

    def _settle(self) -> None:
        while self._work:
            self._revive_slot(*self._work.pop())

    def _need(self, atoms: Iterable[Atom]) -> None:
        for a in atoms:
            if isinstance(a, Var) and a.name not in self.needed:
                self.needed.add(a.name)
                where = self.bound.get(a.name)
                if where is not None:  # None for a parameter of the kernel
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
    """The operands that control `s`: live whenever `s` is, whichever of its results are."""
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
    """Copies live statements; visits statements in the order of their numbers."""

    def __init__(self, marks: _Marks) -> None:
        self.marks = marks
        self.next = 0

    def block(self, block: Block, kept: tuple[int, ...] | None = None) -> Block:
        """The live part of `block`, with the yields numbered `kept` (None: all)."""
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
