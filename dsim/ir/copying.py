"""Copies of statements with fresh names for everything that they bind."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import assert_never

from dsim.ir.build import Names
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
    Let,
    Load,
    Logging,
    LogMark,
    Memory,
    Origin,
    Print,
    Probe,
    RollBack,
    Rule,
    Statement,
    Store,
    UndoLog,
    Var,
    While,
)
from dsim.ir.walk import swap, with_blocks, with_operands, with_rules


class Copier:
    """Copies statements with fresh names for everything that they bind.

    Parameters
    ----------
    names : Names
        Where the new names come from.
    transform : str, optional
        Appended to the copies' origins.
    """

    def __init__(self, names: Names, transform: str = "") -> None:
        self.names = names
        self.transform = transform
        self.memories: dict[Memory, Memory] = {}

    def origin(self, o: Origin) -> Origin:
        """`o` with the copier's transform appended."""
        if not self.transform or o.transforms[-1:] == (self.transform,):
            return o
        return replace(o, transforms=(*o.transforms, self.transform))

    def variable(self, v: Var, env: dict[Var, Atom]) -> Var:
        """A fresh variable for `v`, entered in `env`."""
        new = Var(self.names.fresh(v.name), v.type)
        env[v] = new
        return new

    def memory(self, m: Memory) -> Memory:
        """The memory that stands for `m` in the copy: a new one if its `Alloc` was copied too."""
        return self.memories.get(m, m)

    def block(self, block: Block, env: Mapping[Var, Atom]) -> Block:
        """A copy of `block`; its free variables are replaced as `env` says."""
        here = dict(env)
        copied = tuple(self.statement(s, here) for s in block.statements)
        return Block(copied, tuple(swap(y, here) for y in block.yields))

    def statement(self, s: Statement, env: dict[Var, Atom]) -> Statement:
        """A copy of `s`; the variables that it binds are added to `env`."""
        if isinstance(s, Let):  # most statements
            args = tuple(swap(a, env) for a in s.args)
            return Let(self.variable(s.var, env), s.op, args, self.origin(s.origin))
        s = with_operands(s, lambda a: swap(a, env))
        s = replace(s, origin=self.origin(s.origin))
        if isinstance(s, Alloc):
            self.memories[s.memory] = replace(s.memory, name=self.names.fresh(s.memory.name))
        if isinstance(s, UndoLog):
            self.memories[s.log] = replace(s.log, name=self.names.fresh(s.log.name))
        if isinstance(s, Load | Store | Accumulate | Alloc | UndoLog | Append | RollBack | Compact):
            s = replace(s, memory=self.memory(s.memory))
        if isinstance(s, Logging):
            s = replace(s, log=self.memory(s.log))
        if isinstance(s, Alloc) and s.saves is not None and s.saves.of is not None:
            s = replace(s, saves=replace(s.saves, of=self.memory(s.saves.of)))
        if isinstance(s, UndoLog) and s.beside is not None:
            s = replace(s, beside=self.memory(s.beside))
        s = self._inside(s, env)
        return self._bound(s, env)

    def _inside(self, s: Statement, env: dict[Var, Atom]) -> Statement:
        match s:
            case Let() | Load() | Store() | Accumulate() | Alloc() | Probe() | Print() | Assert() | If():
                return with_blocks(s, lambda b: self.block(b, env))
            case UndoLog() | Append() | LogMark() | RollBack() | Compact():
                return with_blocks(s, lambda b: self.block(b, env))
            case For():
                inner = dict(env)
                index, carried = self.variable(s.index, inner), self._variables(s.carried, inner)
                goes_on = None if s.goes_on is None else inner[s.goes_on]
                assert goes_on is None or isinstance(goes_on, Var)
                body = self.block(s.body, inner)
                return replace(s, index=index, carried=carried, goes_on=goes_on, body=body)
            case While():
                inner = dict(env)
                carried = self._variables(s.carried, inner)
                return replace(
                    s,
                    carried=carried,
                    condition=self.block(s.condition, inner),
                    body=self.block(s.body, inner),
                )
            case Derive():
                inner = dict(env)
                params = self._variables(s.params, inner)
                return replace(s, params=params, body=self.block(s.body, inner))
            case Call():
                inner = dict(env)
                params = self._variables(s.params, inner)
                body = self.block(s.body, inner)
                return with_rules(replace(s, params=params, body=body), lambda r: self._rule(r, env))
            case _:
                assert_never(s)

    def _rule(self, rule: Rule, env: dict[Var, Atom]) -> Rule:
        inner = dict(env)
        params = self._variables(rule.params, inner)
        return replace(rule, params=params, body=self.block(rule.body, inner))

    def _variables(self, vs: tuple[Var, ...], env: dict[Var, Atom]) -> tuple[Var, ...]:
        return tuple(self.variable(v, env) for v in vs)

    def _bound(self, s: Statement, env: dict[Var, Atom]) -> Statement:
        match s:
            case Let() | Load() | LogMark():
                return replace(s, var=self.variable(s.var, env))
            case Accumulate(old=Var() as old):
                return replace(s, old=self.variable(old, env))
            case If() | For() | While() | Derive() | Call():
                return replace(s, results=self._variables(s.results, env))
            case Store() | Accumulate() | Alloc() | Probe() | Print() | Assert() | UndoLog() | Append():
                return s
            case RollBack() | Compact():
                return s
            case _:
                assert_never(s)
