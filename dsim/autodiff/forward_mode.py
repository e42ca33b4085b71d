"""Forward mode: a kernel that computes values and tangents side by side.

``ż = Σ (∂z/∂xᵢ) ẋᵢ`` statement by statement, from the table. A loop also carries the tangents of its
carried values, a branch also yields those of its yields. A value that does not vary has no tangent.
Several directions may be carried along at once: each statement's values are then computed once, and a tangent
of them for each direction.
Not its job: saying what varies (`analysis.activity`), inlining (`frontend`).
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import repeat
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
from dsim.ir.walk import bound_names, fields_of, substitute


def forward(kernel: KernelIR, active: frozenset[MemoryKey], label: str = TANGENT) -> KernelIR:
    """The tangent kernel: runs `kernel` and propagates the tangents of the `active` memories.

    Parameters
    ----------
    kernel : KernelIR
        Without `Derive` nodes (`expand` replaces them).
    active : frozenset of MemoryKey
        Memories with tangents: ``(name, derivative)`` reads and writes ``(name, derivative + (label,))``.
    label : str
        The name of the tangents among a memory's companions.

    Returns
    -------
    KernelIR
        With the same parameters and return values; differentiable again.
    """
    names = Names(bound_names(kernel))
    return along(kernel, active, [Direction(label, lambda m: companion(m, label, names))], names)


@dataclass(frozen=True)
class Direction:
    """One of the directions that a forward mode differentiates along.

    Attributes
    ----------
    label : str
        Part of the names of its tangents.
    tangent : callable
        The memory that holds the tangents of an active memory.
    """

    label: str
    tangent: Callable[[Memory], Memory]


def along(
    kernel: KernelIR, active: frozenset[MemoryKey], directions: Sequence[Direction], names: Names
) -> KernelIR:
    """Runs `kernel` and propagates the tangents of the `active` memories along all `directions`."""
    tangents = Tangents(Builder(names), of_kernel(kernel, active), directions)
    tangents.run(kernel.body.statements)
    body = tangents.builder.close(kernel.body.yields)
    return replace(kernel, body=body, memories=_memories(kernel, body))


def _memories(kernel: KernelIR, body: Block) -> tuple[Memory, ...]:
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
        only = Direction(TANGENT, lambda memory: memory)  # of no memory: none is active
        tangents = Tangents(builder, activity, [only], {v: (t,) for v, t in zip(floats, seeds, strict=True)})
        tangents.run(copy.statements)
        results = tuple(t for y in copy.yields if y.type.is_float for t in tangents.or_zero(y))
    done = substitute(Block(tuple(inner), results), dict(zip(own.values(), args, strict=True)))
    for s in done.statements:
        builder.add(s)
    return done.yields


Tangent = tuple[Atom, ...]  # one number for each direction


class Tangents:
    """Appends statements and their tangents to a builder. A tangent has one number for each direction."""

    def __init__(
        self,
        builder: Builder,
        activity: Activity,
        directions: Sequence[Direction],
        known: Mapping[Var, Tangent] | None = None,
    ) -> None:
        self.builder = builder
        self.activity = activity
        self.directions = directions
        self._tangent: dict[Var, Tangent] = dict(known or {})
        self._private: dict[Memory, tuple[Memory, ...]] = {}

    def of(self, atom: Atom) -> Tangent | None:
        """The tangent of `atom`; None if it is zero."""
        return self._tangent.get(atom) if isinstance(atom, Var) else None

    def or_zero(self, atom: Atom) -> Tangent:
        """The tangent of `atom`, zeros too."""
        return self.of(atom) or (zero(atom.type),) * len(self.directions)

    def run(self, body: Sequence[Statement]) -> None:
        """Appends all of `body` with tangents."""
        for s in body:
            with self.builder.at(replace(s.origin, transforms=(*s.origin.transforms, "forward"))):
                self._statement(s)

    def _memories(self, memory: Memory) -> tuple[Memory, ...]:
        """The memory of the tangents of `memory` along each direction."""
        if memory.private:
            return self._private[memory]
        return tuple(d.tangent(memory) for d in self.directions)

    def _variables(self, var: Var) -> tuple[Var, ...]:
        """New variables for the tangent of `var`."""
        return tuple(self.builder.fresh(f"{var.name}_{d.label}", var.type) for d in self.directions)

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
                    self._store(s, self.or_zero(s.value))
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
        if len(self.directions) > 1:
            return  # a row of a probe buffer is about one tangent
        if s.source:
            tangent, source = self.of(s.value), tuple(t for a in s.source for t in self.of(a) or ())
            if tangent is not None and source:
                made = replace(s, value=tangent[0], source=source, what="tangent", origin=self.builder.origin)
                self.builder.add(made)
            return
        tangent = self.of(s.value) if s.tie is None else self._crossing(s)
        if tangent is not None:
            made = replace(s, value=tangent[0], across=(), what="tangent", origin=self.builder.origin)
            self.builder.add(made if s.over is None else replace(made, tie=TRUE, over=FALSE))

    def _crossing(self, s: Probe) -> Tangent | None:
        """The tangent of what changes at a kink; for several values the sum of their absolute tangents."""
        tangents = [self.builder.term(t) for a in s.across for t in self.of(a) or ()]
        if len(tangents) < 2:
            return (tangents[0].atom,) if tangents else None
        return (functools.reduce(operator.add, (t.op("abs") for t in tangents)).atom,)

    def _call(self, s: Call) -> None:
        self.builder.add(s)
        floats = [r for r in s.results if r.type.is_float]
        if any(r in self.activity.variables for r in floats):
            seeds = zip(*map(self.or_zero, s.args), strict=True)
            made = [derivatives(self.builder, self.activity, s, "jvp", one, {}) for one in seeds]
            self._tangent.update(zip(floats, zip(*made, strict=True), strict=True))

    def _let(self, s: Let) -> None:
        if s.var not in self.activity.variables:
            return
        terms = [self.builder.term(a) for a in (*s.args, s.var)]
        parts: list[Tangent] = []
        for times, arg in zip(TABLE[s.op].times, s.args, strict=True):
            tangent = self.of(arg)
            if times is not None and tangent is not None:
                parts.append(tuple(times(*[*terms, self.builder.term(t)]).atom for t in tangent))
        if parts:
            each = zip(self.directions, zip(*parts, strict=True), strict=True)
            self._tangent[s.var] = tuple(self._total(f"{s.var.name}_{d.label}", of) for d, of in each)

    def _total(self, hint: str, parts: Sequence[Atom]) -> Atom:
        return functools.reduce(lambda a, b: self.builder.let("add", a, b, hint=hint), parts)

    def _load(self, s: Load) -> None:
        self.builder.add(s)
        if self.activity.carries(s.memory):
            self._tangent[s.var] = self._read(s, self._variables(s.var))

    def _read(self, s: Load | Accumulate, variables: tuple[Var, ...]) -> tuple[Var, ...]:
        """Reads the tangent of the element that `s` accesses."""
        for var, memory in zip(variables, self._memories(s.memory), strict=True):
            self.builder.add(Load(var, memory, s.index, self.builder.origin, s.site))
        return variables

    def _store(self, s: Store | Accumulate, values: Sequence[Atom]) -> None:
        for value, memory in zip(values, self._memories(s.memory), strict=True):
            self.builder.add(Store(memory, s.index, value, self.builder.origin, s.site))

    def _accumulate(self, s: Accumulate) -> None:
        if not self.activity.carries(s.memory):
            self.builder.add(s)
        elif s.op == "add":
            self.builder.add(s)
            self._add(s)
        else:
            before = self.builder.fresh(f"{s.memory.name}_before", s.memory.type)
            self.builder.add(Load(before, s.memory, s.index, self.builder.origin, s.site))
            old = self._read(s, self._variables(before))
            self._store(s, self._combined(s, before, old))
            self.builder.add(s)
            if s.old is not None:
                self._tangent[s.old] = old

    def _add(self, s: Accumulate) -> None:
        if self.of(s.value) is None and s.old is None:
            return
        olds = None if s.old is None else self._variables(s.old)
        each = zip(self.or_zero(s.value), self._memories(s.memory), olds or repeat(None), strict=False)
        for value, memory, old in each:
            self.builder.add(Accumulate(memory, s.index, value, "add", old, self.builder.origin, s.site))
        if s.old is not None and olds is not None:
            self._tangent[s.old] = olds

    def _combined(self, s: Accumulate, before: Var, old: Sequence[Var]) -> list[Atom]:
        """The tangent of ``op(before, value)`` for the accumulations that are not sums."""
        b = self.builder
        pairs = list(zip(old, self.or_zero(s.value), strict=True))
        if s.op == "mul":
            return [b.let("add", b.let("mul", o, s.value), b.let("mul", before, t)) for o, t in pairs]
        stays = b.let("gt" if s.op == "max" else "lt", before, s.value)
        return [b.let("select", stays, o, t) for o, t in pairs]

    def _alloc(self, s: Alloc) -> None:
        self.builder.add(s)
        if not self.activity.carries(s.memory):
            return
        self._make(s.memory)
        kept = s.saves.of if s.saves is not None else None
        for n, memory in enumerate(self._private[s.memory]):
            saves = s.saves
            if saves is not None and kept is not None:
                saves = replace(saves, of=self._memories(kept)[n])
            self.builder.add(replace(s, memory=memory, origin=self.builder.origin, saves=saves))

    def _make(self, private: Memory) -> None:
        """Names the tangents of a private memory."""
        labels = (d.label for d in self.directions)
        self._private[private] = tuple(companion(private, label, self.builder.names) for label in labels)

    def _logging(self, s: UndoLog | Append | RollBack | Compact) -> None:
        """Gives each tangent an undo log of the same length as the primal's: one mark serves all."""
        self.builder.add(s)
        if not self.activity.carries(s.memory):
            return
        if isinstance(s, UndoLog):
            self._make(s.log)
            s = replace(s, beside=s.beside or s.log)
        for log, memory in zip(self._private[s.log], self._memories(s.memory), strict=True):
            self.builder.add(replace(s, memory=memory, log=log, origin=self.builder.origin))

    def _varying(self, variables: Sequence[Var]) -> list[int]:
        return [i for i, v in enumerate(variables) if v in self.activity.variables]

    def _inside(self, block: Block, also: Sequence[int]) -> Block:
        """`block` with tangents; it also yields those of the yields numbered `also`."""
        with self.builder.block() as inner:
            self.run(block.statements)
            extra = tuple(t for i in also for t in self.or_zero(block.yields[i]))
        return Block(tuple(inner), (*block.yields, *extra))

    def _fresh(self, variables: Sequence[Var], which: Sequence[int]) -> tuple[Var, ...]:
        made = [self._variables(variables[i]) for i in which]
        self._tangent.update(zip((variables[i] for i in which), made, strict=True))
        return tuple(v for tangent in made for v in tangent)

    def _if(self, s: If) -> None:
        also = self._varying(s.results)
        then, orelse = self._inside(s.then, also), self._inside(s.orelse, also)
        results = (*s.results, *self._fresh(s.results, also))
        self.builder.add(replace(s, then=then, orelse=orelse, results=results))

    def _loop(self, s: For | While) -> None:
        also = self._varying(s.carried)
        init = (*s.init, *(t for i in also for t in self.or_zero(s.init[i])))
        carried = (*s.carried, *self._fresh(s.carried, also))
        if isinstance(s, While):  # the condition is copied as it is: it may not be bound twice
            with self.builder.block() as inner:
                self.run(s.condition.statements)
            s = replace(s, condition=Block(tuple(inner), s.condition.yields))
        body = self._inside(s.body, also)
        results = (*s.results, *self._fresh(s.results, also))
        self.builder.add(replace(s, body=body, carried=carried, init=init, results=results))
