"""Common subexpression elimination (CSE), also of loads.

A statement that equals an available one before it is replaced by that value; so is a load of an
element that was loaded or stored before, if nothing may have written it since. Equal results of one
branch, and equal carried values of one loop, are merged.

May-alias is conservative: a store or accumulation to a memory kills the available elements of it, except
those with a provably different index; a loop kills, before its first trip, the elements that any trip may
write. Iterations of a parallel loop are independent: none reads what another one writes.

Not its job: moving anything (`loop_invariant_code_motion`).
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, TypeVar, assert_never

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
from dsim.ir.primitives import TABLE
from dsim.ir.walk import with_blocks
from dsim.passes.algebraic_simplification import Definitions
from dsim.passes.elements import Place, anywhere, apart, place
from dsim.passes.renaming import Renaming, carrying, pick
from dsim.passes.touched_elements import Touches

_Key = tuple[str, ...]
_Loop = TypeVar("_Loop", For, While)


def eliminate_common_subexpressions(kernel: KernelIR) -> KernelIR:
    """`kernel` with each available expression computed once."""
    available = _AvailableExpressions(Renaming())
    body = available.block(kernel.body)
    while available.late:  # a variable with uses before was replaced: run again
        available = _AvailableExpressions(available.names)
        body = available.block(body)
    return replace(kernel, body=body)


class _AvailableExpressions:
    def __init__(self, names: Renaming) -> None:
        self.names = names
        self.late = False
        self.made: Definitions = {}
        self.touches = Touches(self.made)
        self.values: dict[_Key, Atom] = {}
        self.elements: dict[MemoryKey, dict[Place, Atom]] = {}
        self.log: list[tuple[dict[Any, Atom], object, Atom | None]] = []  # undo log of the open scopes

    # available values, by scope

    @contextmanager
    def scope(self) -> Generator[None, None, None]:
        """At the end, values learnt inside are dropped and those killed inside are available again."""
        mark = len(self.log)
        yield
        while len(self.log) > mark:
            table, key, before = self.log.pop()
            if before is None:
                table.pop(key, None)
            else:
                table[key] = before

    def learn(self, table: dict[Any, Atom], key: object, value: Atom) -> None:
        self.log.append((table, key, table.get(key)))
        table[key] = value

    def kill(self, key: MemoryKey, at: Place) -> None:
        known = self.elements.get(key, {})
        for p in [p for p in known if not apart(p, at)]:
            self.log.append((known, p, known.pop(p)))

    def kill_written(self, s: Statement) -> None:
        if not any(self.elements.values()):
            return
        for key, places in self.touches.of(s).writes().items():
            for p in places:
                self.kill(key, p)

    def element(self, memory: Memory) -> dict[Place, Atom]:
        return self.elements.setdefault(memory.key, {})

    # statements

    def block(self, block: Block) -> Block:
        out: list[Statement] = []
        with self.scope():
            for s in block.statements:
                self.statement(s, out)
            yields = self.names.atoms(block.yields)
        return Block(tuple(out), yields)

    def statement(self, old: Statement, out: list[Statement]) -> None:
        s = self.names.statement(old)
        match s:
            case Let():
                found, table, key = self.let(s)
            case Load():
                table, key = self.element(s.memory), place(s.index, self.made)
                found = table.get(key)
            case (
                Store()
                | Accumulate()
                | Alloc()
                | Probe()
                | Print()
                | Assert()
                | If()
                | For()
                | While()
                | UndoLog()
                | Append()
                | LogMark()
                | RollBack()
                | Compact()
                | Derive()
                | Call()
            ):
                out.append(self.other(s, old))
                return
            case _:
                assert_never(s)
        if found is None:
            self.learn(table, key, s.var)
            out.append(s)
        else:
            self.names.put(s.var, found)

    def let(self, s: Let) -> tuple[Atom | None, dict[_Key, Atom], _Key]:
        if s.var.type.is_integer:
            self.made[s.var.name] = s
        args = [a.name if isinstance(a, Var) else f"{a.value!r} {a.type.name}" for a in s.args]
        if TABLE[s.op].commutative:
            args.sort()
        key = (s.op, s.var.type.name, *args)
        known = None if s.op == "copy" else self.values.get(key)  # each copy stands for its own assignment
        return known, self.values, key

    def other(self, s: Statement, old: Statement) -> Statement:
        match s:
            case Store() | Accumulate():
                at = place(s.index, self.made)
                self.kill(s.memory.key, at)
                if isinstance(s, Store):
                    self.learn(self.element(s.memory), at, s.value)
            case RollBack():
                self.kill(s.memory.key, anywhere(s.memory))
            case If():
                s = self.branch(replace(s, then=self.block(s.then), orelse=self.block(s.orelse)))
                self.kill_written(old)
            case For():
                self.kill_written(old)
                s = self.merged(s)
                s = self.merged(replace(s, body=self.block(s.body)), late=True)
            case While():
                self.kill_written(old)
                s = self.merged(s)
                condition, body = self.block(s.condition), self.block(s.body)
                s = self.merged(replace(s, condition=condition, body=body), late=True)
            case Let() | Load() | Alloc() | Probe() | Print() | Assert() | UndoLog() | Append() | LogMark():
                s = with_blocks(s, self.block)
            case Compact() | Derive() | Call():
                s = with_blocks(s, self.block)
            case _:
                assert_never(s)
        return s

    def branch(self, s: If) -> If:
        """`s` with results merged that have equal yields in both arms."""
        first: dict[tuple[Atom, Atom], Var] = {}
        kept: list[int] = []
        for k, (v, *arms) in enumerate(zip(s.results, s.then.yields, s.orelse.yields, strict=True)):
            same = first.setdefault((arms[0], arms[1]), v)
            if same is v:
                kept.append(k)
            else:
                self.names.put(v, same)
        then, orelse = (Block(b.statements, pick(b.yields, kept)) for b in (s.then, s.orelse))
        return replace(s, then=then, orelse=orelse, results=pick(s.results, kept))

    def merged(self, s: _Loop, late: bool = False) -> _Loop:
        """`s` with carried values merged that have equal initial values and equal yields."""
        first: dict[tuple[Atom, Atom], int] = {}
        kept: list[int] = []
        for k, start in enumerate(s.init):
            same = first.setdefault((start, self.names.atom(s.body.yields[k])), k)
            if same == k:
                kept.append(k)
                continue
            if isinstance(s, For) and s.goes_on == s.carried[k]:
                s = replace(s, goes_on=s.carried[same])
            self.names.put(s.carried[k], s.carried[same])
            self.names.put(s.results[k], s.results[same])
            self.late |= late
        return s if len(kept) == len(s.init) else carrying(s, kept)
