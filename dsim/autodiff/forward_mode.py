"""Forward mode: a kernel that computes values and tangents side by side.

``ż = Σ (∂z/∂xᵢ) ẋᵢ`` statement by statement, from the table. A loop also carries the tangents of its
carried values, a branch also yields those of its yields. A value that does not vary has no tangent.
Not its job: saying what varies (`analysis.activity`), inlining (`frontend`).
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import assert_never

from dsim.analysis.activity import Activity, of_kernel
from dsim.autodiff.backward_sweep import derivatives
from dsim.autodiff.names import TANGENT, companion, zero
from dsim.ir.build import FALSE, TRUE, Builder, Names
from dsim.ir.copying import Copier
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
from dsim.ir.primitives import TABLE
from dsim.ir.walk import bound_names, fields_of, substitute


def forward(kernel: Kernel, active: frozenset[MemoryKey], label: str = TANGENT) -> Kernel:
    """The tangent kernel: runs `kernel` and propagates the tangents of the `active` memories.

    Parameters
    ----------
    kernel : Kernel
        Without `Derive` nodes (`expand` replaces them).
    active : frozenset of MemoryKey
        Memories with tangents: ``(name, derivative)`` reads and writes ``(name, derivative + (label,))``.
    label : str
        The name of the tangents among a memory's companions.

    Returns
    -------
    Kernel
        With the same parameters and return values; differentiable again.
    """
    names = Names(bound_names(kernel))
    tangents = Tangents(Builder(names), of_kernel(kernel, active), label)
    tangents.run(kernel.body.statements)
    body = tangents.builder.close(kernel.body.yields)
    return replace(kernel, body=body, memories=_memories(kernel, body))


def _memories(kernel: Kernel, body: Block) -> tuple[Memory, ...]:
    """The kernel's memories, then the companions that `body` accesses, in order of use."""
    return tuple(dict.fromkeys((*kernel.memories, *fields_of(body))))


def jvp(
    builder: Builder, params: Sequence[Var], body: Block, args: Sequence[Atom], seeds: Sequence[Atom]
) -> tuple[Atom, ...]:
    """Appends `body` at `args`; returns the tangents of its float yields.

    `seeds` are the tangents of the float `params`. Memories count as constants.
    """
    # Fresh parameters: an argument that is passed twice has two tangents here.
    own = {p: builder.fresh(p.name, p.type) for p in params}
    copy = Copier(builder.names).block(body, own)
    floats = [own[p] for p in params if p.type.is_float]
    activity = Activity((), floats)
    activity.scan(copy)
    with builder.block() as inner:
        tangents = Tangents(builder, activity, TANGENT, dict(zip(floats, seeds, strict=True)))
        tangents.run(copy.statements)
        results = tuple(tangents.of(y) or zero(y.type) for y in copy.yields if y.type.is_float)
    done = substitute(Block(tuple(inner), results), dict(zip(own.values(), args, strict=True)))
    for s in done.statements:
        builder.add(s)
    return done.yields


class Tangents:
    """Appends statements and their tangents to a builder."""

    def __init__(
        self,
        builder: Builder,
        activity: Activity,
        label: str,
        known: Mapping[Var, Atom] | None = None,
    ) -> None:
        self.builder = builder
        self.activity = activity
        self.label = label
        self._tangent: dict[Var, Atom] = dict(known or {})
        self._private: dict[Memory, Memory] = {}

    def of(self, atom: Atom) -> Atom | None:
        """The tangent of `atom`; None if it is zero."""
        return self._tangent.get(atom) if isinstance(atom, Var) else None

    def run(self, body: Sequence[Statement]) -> None:
        """Appends all of `body` with tangents."""
        for s in body:
            with self.builder.at(replace(s.origin, transforms=(*s.origin.transforms, "forward"))):
                self._statement(s)

    def _companion(self, memory: Memory) -> Memory:
        if not memory.private:
            return companion(memory, self.label, self.builder.names)
        return self._private[memory]

    def _statement(self, s: Statement) -> None:  # noqa: C901, PLR0912 (one case a node)
        match s:
            case Let():
                self.builder.add(s)
                self._let(s)
            case Load():
                self._load(s)
            case Store():
                self.builder.add(s)
                if self.activity.carries(s.memory):
                    self._store(s, self.of(s.value) or zero(s.value.type))
            case Accumulate():
                self._accumulate(s)
            case Alloc():
                self._alloc(s)
            case UndoLog() | Append() | RollBack() | Compact():
                self._logging(s)
            case If():
                self._if(s)
            case For() | While():
                self._loop(s)
            case Call():
                self._call(s)
            case Probe(what="value"):
                self._watch(s)
            case Probe() | Print() | Assert() | LogMark() | Derive():
                self.builder.add(s)
            case _:
                assert_never(s)

    def _watch(self, s: Probe) -> None:
        self.builder.add(s)
        if s.source:
            tangent, source = self.of(s.value), tuple(t for a in s.source if (t := self.of(a)) is not None)
            if tangent is not None and source:
                made = replace(s, value=tangent, source=source, what="tangent", origin=self.builder.origin)
                self.builder.add(made)
            return
        tangent = self.of(s.value) if s.tie is None else self._crossing(s)
        if tangent is not None:
            made = replace(s, value=tangent, across=(), what="tangent", origin=self.builder.origin)
            self.builder.add(made if s.over is None else replace(made, tie=TRUE, over=FALSE))

    def _crossing(self, s: Probe) -> Atom | None:
        """The tangent of what changes at a kink; for several values the sum of their absolute tangents."""
        tangents = [self.builder.term(t) for a in s.across if (t := self.of(a)) is not None]
        if len(tangents) < 2:
            return tangents[0].atom if tangents else None
        return functools.reduce(operator.add, (t.op("abs") for t in tangents)).atom

    def _call(self, s: Call) -> None:
        self.builder.add(s)
        floats = [r for r in s.results if r.type.is_float]
        if any(r in self.activity.variables for r in floats):
            seeds = [self.of(a) or zero(a.type) for a in s.args]
            tangents = derivatives(self.builder, self.activity, s, "jvp", seeds, {})
            self._tangent.update(zip(floats, tangents, strict=True))

    def _let(self, s: Let) -> None:
        if s.var not in self.activity.variables:
            return
        b = self.builder
        terms = [b.term(a) for a in (*s.args, s.var)]
        total: Atom | None = None
        for times, arg in zip(TABLE[s.op].times, s.args, strict=True):
            tangent = self.of(arg)
            if times is None or tangent is None:
                continue
            part = times(*[*terms, b.term(tangent)]).atom
            total = part if total is None else b.let("add", total, part, hint=f"{s.var.name}_{self.label}")
        if total is not None:
            self._tangent[s.var] = total

    def _load(self, s: Load) -> None:
        self.builder.add(s)
        if self.activity.carries(s.memory):
            tangent = self.builder.fresh(f"{s.var.name}_{self.label}", s.var.type)
            memory = self._companion(s.memory)
            self.builder.add(replace(s, var=tangent, memory=memory, origin=self.builder.origin))
            self._tangent[s.var] = tangent

    def _store(self, s: Store | Accumulate, value: Atom) -> None:
        memory = self._companion(s.memory)
        self.builder.add(Store(memory, s.index, value, self.builder.origin, s.site))

    def _read(self, s: Accumulate, memory: Memory, hint: str) -> Var:
        var = self.builder.fresh(hint, memory.type)
        self.builder.add(Load(var, memory, s.index, self.builder.origin, s.site))
        return var

    def _accumulate(self, s: Accumulate) -> None:
        if not self.activity.carries(s.memory):
            self.builder.add(s)
            return
        memory = self._companion(s.memory)
        name = s.memory.name
        tangent = self.of(s.value)
        if s.op == "add":
            self.builder.add(s)
            old = None if s.old is None else self.builder.fresh(f"{s.old.name}_{self.label}", memory.type)
            if tangent is not None or old is not None:
                value = tangent or zero(memory.type)
                self.builder.add(Accumulate(memory, s.index, value, "add", old, self.builder.origin, s.site))
        else:
            before = self._read(s, s.memory, f"{name}_before")
            old = self._read(s, memory, f"{name}_before_{self.label}")
            self._store(s, self._combined(s, before, old, tangent))
            self.builder.add(s)
        if s.old is not None and old is not None:
            self._tangent[s.old] = old

    def _combined(self, s: Accumulate, before: Var, old: Var, tangent: Atom | None) -> Atom:
        """The tangent of ``op(before, value)`` for the accumulations that are not sums."""
        b = self.builder
        value = tangent or zero(old.type)
        if s.op == "mul":
            return b.let("add", b.let("mul", old, s.value), b.let("mul", before, value))
        stays = b.let("gt" if s.op == "max" else "lt", before, s.value)
        return b.let("select", stays, old, value)

    def _alloc(self, s: Alloc) -> None:
        self.builder.add(s)
        if self.activity.carries(s.memory):
            self._private[s.memory] = companion(s.memory, self.label, self.builder.names)
            saves = s.saves
            if saves is not None and saves.of is not None:
                saves = replace(saves, of=self._companion(saves.of))
            memory, origin = self._private[s.memory], self.builder.origin
            self.builder.add(replace(s, memory=memory, origin=origin, saves=saves))

    def _logging(self, s: UndoLog | Append | RollBack | Compact) -> None:
        """Gives the tangents an undo log of the same length as the primal's: one mark serves both."""
        self.builder.add(s)
        if not self.activity.carries(s.memory):
            return
        if isinstance(s, UndoLog):
            self._private[s.log] = companion(s.log, self.label, self.builder.names)
        memory, log = self._companion(s.memory), self._private[s.log]
        if isinstance(s, UndoLog):
            s = replace(s, beside=s.beside or s.log)
        self.builder.add(replace(s, memory=memory, log=log, origin=self.builder.origin))

    def _varying(self, variables: Sequence[Var]) -> list[int]:
        return [i for i, v in enumerate(variables) if v in self.activity.variables]

    def _inside(self, block: Block, also: Sequence[int]) -> Block:
        """`block` with tangents; it also yields those of the yields numbered `also`."""
        with self.builder.block() as inner:
            self.run(block.statements)
            extra = tuple(self.of(block.yields[i]) or zero(block.yields[i].type) for i in also)
        return Block(tuple(inner), (*block.yields, *extra))

    def _fresh(self, variables: Sequence[Var], which: Sequence[int]) -> tuple[Var, ...]:
        made: list[Var] = []
        for i in which:
            var = self.builder.fresh(f"{variables[i].name}_{self.label}", variables[i].type)
            self._tangent[variables[i]] = var
            made.append(var)
        return tuple(made)

    def _if(self, s: If) -> None:
        also = self._varying(s.results)
        then, orelse = self._inside(s.then, also), self._inside(s.orelse, also)
        results = (*s.results, *self._fresh(s.results, also))
        self.builder.add(replace(s, then=then, orelse=orelse, results=results))

    def _loop(self, s: For | While) -> None:
        also = self._varying(s.carried)
        init = (*s.init, *(self.of(s.init[i]) or zero(s.init[i].type) for i in also))
        carried = (*s.carried, *self._fresh(s.carried, also))
        if isinstance(s, While):  # the condition is copied as it is: it may not be bound twice
            with self.builder.block() as inner:
                self.run(s.condition.statements)
            s = replace(s, condition=Block(tuple(inner), s.condition.yields))
        body = self._inside(s.body, also)
        results = (*s.results, *self._fresh(s.results, also))
        self.builder.add(replace(s, body=body, carried=carried, init=init, results=results))
