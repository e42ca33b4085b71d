"""The memory effects of a kernel: every access with its affine index, its loops and its guards.

The facts on which all other analyses are based, collected in one walk over the kernel.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, assert_never

from dsim.analysis.affine import Affine
from dsim.analysis.integers import Facts, Integers
from dsim.analysis.symbols import Loop
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
from dsim.ir.walk import binds, blocks, parameters, statements, written
from dsim.records import record

Kind = Literal["load", "store", "accumulate"]


@record(eq=False)
class Guard:
    """One branch of an `If`, compared by identity; the forms `facts` are at least 0 inside it."""

    condition: int
    branch: bool
    facts: Facts


@record(eq=False)
class Access:
    """One statement that loads, stores or accumulates, compared by identity.

    An `Append` counts as a store to its element, which a `RollBack` will write. Every operation on an undo
    log counts as a store to the whole log, which preserves the order of its entries.

    Attributes
    ----------
    statement : Load, Store, Accumulate, Append, LogMark, RollBack or Compact
        The statement, with its origin.
    memory : Memory
        The accessed memory.
    kind : str
        "load", "store" or "accumulate".
    index : tuple of Affine
        The index of the element, one form per axis.
    loops : tuple of Loop
        The loops around it, outermost first.
    guards : tuple of Guard
        The branches around it, outermost first.
    position : int
        Its number in the kernel's program order.
    form : int
        A number, equal for accesses with equal index, loops and guards.
    """

    statement: Load | Store | Accumulate | Append | LogMark | RollBack | Compact
    memory: Memory
    kind: Kind
    index: tuple[Affine, ...]
    loops: tuple[Loop, ...]
    guards: tuple[Guard, ...]
    position: int
    form: int

    @property
    def site(self) -> int:
        """The site number of an access in the person's program; -1 if a transform made it."""
        return -1 if isinstance(self.statement, LogMark | RollBack | Compact) else self.statement.site

    @property
    def op(self) -> str:
        """The operation of an accumulation; empty for other accesses."""
        return self.statement.op if isinstance(self.statement, Accumulate) else ""


@dataclass(eq=False, slots=True)
class Effects:
    """The result of `effects`.

    Attributes
    ----------
    accesses : tuple of Access
        In program order.
    by_memory : dict of MemoryKey to list of Access
        The accesses by memory, private ones included.
    loops : dict of str to Loop
        The `For` loops by the name of their index.
    allocated : dict of MemoryKey to (Loop or None)
        For a private memory, the innermost loop around its `Alloc`.
    lengths : dict of MemoryKey to tuple of Affine
        The shapes of private memories.
    integers : Integers
        The affine forms, symbols and conditions of the kernel.
    """

    kernel: KernelIR
    accesses: tuple[Access, ...]
    by_memory: dict[MemoryKey, list[Access]]
    loops: dict[str, Loop]
    allocated: dict[MemoryKey, Loop | None]
    lengths: dict[MemoryKey, tuple[Affine, ...]]
    integers: Integers

    def loop(self, statement: For) -> Loop:
        """The facts about the loop `statement`."""
        return self.loops[statement.index.name]

    def inside(self, loop: Loop) -> list[Access]:
        """The accesses in `loop`, in program order."""
        return [a for a in self.accesses if loop.first <= a.position < loop.last]


def effects(kernel: KernelIR) -> Effects:
    """All accesses of `kernel` and the facts about its integers."""
    walk = _Walk(kernel)
    walk.block(kernel.body)
    return Effects(
        kernel, tuple(walk.accesses), walk.by_memory, walk.loops, walk.allocated, walk.lengths, walk.integers
    )


def accesses(kernel: KernelIR) -> tuple[Access, ...]:
    """All accesses of `kernel` in program order."""
    return effects(kernel).accesses


class _Walk:
    def __init__(self, kernel: KernelIR) -> None:
        self.kernel = kernel
        self.integers = Integers(kernel.params)
        self.accesses: list[Access] = []
        self.by_memory: dict[MemoryKey, list[Access]] = {}
        self.loops: dict[str, Loop] = {}
        self.allocated: dict[MemoryKey, Loop | None] = {}
        self.lengths: dict[MemoryKey, tuple[Affine, ...]] = {}
        self._position = 0
        self._path: tuple[Loop, ...] = ()
        self._guards: tuple[Guard, ...] = ()
        self._written: frozenset[MemoryKey] | None = None
        self._forms: dict[tuple[object, ...], int] = {}

    def block(self, block: Block) -> None:
        """Collects the facts about `block`."""
        for s in block.statements:
            self._position += 1
            self._statement(s)

    def _statement(self, s: Statement) -> None:  # noqa: C901, PLR0912 (one case a node)
        match s:
            case Let():
                self._let(s)
            case Load():
                self._load(s)
            case Store() | Accumulate():
                self._write(s)
            case If():
                self._if(s)
            case For():
                self._for(s)
            case While():
                self._while(s)
            case Alloc():
                self._alloc(s)
            case UndoLog():
                self._log(s)
            case Append():
                self._record(s)
            case LogMark() | RollBack() | Compact():
                self._turn(s)
            case Derive():
                self._derive(s)
            case Call():
                self._call(s)
            case Print() | Assert() | Probe():
                pass
            case _:
                assert_never(s)

    def _bind(self, variables: tuple[Var, ...]) -> None:
        here = self._path[-1] if self._path else None
        for v in variables:
            self.integers.home[v.name] = here

    def _let(self, s: Let) -> None:
        self.integers.home[s.var.name] = self._path[-1] if self._path else None
        if not s.var.type.is_float:
            self.integers.let(s)

    def _access(self, s: Load | Store | Accumulate | Append, kind: Kind) -> tuple[Affine, ...]:
        index = tuple(map(self.integers.form, s.index))
        self._note(s, s.memory, kind, index)
        return index

    def _note(
        self,
        s: Load | Store | Accumulate | Append | LogMark | RollBack | Compact,
        memory: Memory,
        kind: Kind,
        index: tuple[Affine, ...],
    ) -> None:
        form = self._forms.setdefault((index, self._path, self._guards), len(self._forms))
        access = Access(s, memory, kind, index, self._path, self._guards, self._position, form)
        self.accesses.append(access)
        self.by_memory.setdefault(memory.key, []).append(access)

    def _load(self, s: Load) -> None:
        self._bind((s.var,))
        index = self._access(s, "load")
        if not s.var.type.is_float:
            self.integers.load(s, index, s.memory.key not in self.written)

    def _write(self, s: Store | Accumulate) -> None:
        self._bind(binds(s))
        self._access(s, "store" if isinstance(s, Store) else "accumulate")

    @property
    def written(self) -> frozenset[MemoryKey]:
        """The memories that the kernel writes; computed on first use."""
        if self._written is None:
            everything = statements(self.kernel.body)
            self._written = frozenset(m.key for m in map(written, everything) if m is not None)
        return self._written

    def _alloc(self, s: Alloc) -> None:
        self.allocated[s.memory.key] = self._path[-1] if self._path else None
        self.lengths[s.memory.key] = tuple(map(self.integers.form, s.shape))

    def _log(self, s: UndoLog) -> None:
        self.allocated[s.log.key] = self._path[-1] if self._path else None

    def _record(self, s: Append) -> None:
        self._access(s, "store")
        self._turn(s)

    def _turn(self, s: Append | LogMark | RollBack | Compact) -> None:
        self._bind(binds(s))
        self._note(s, s.log, "store", ())

    def _if(self, s: If) -> None:
        self._bind(s.results)
        outer, at = self._guards, self._position
        yes, no = self.integers.known(s.cond)
        self._guards = (*outer, Guard(at, True, yes))
        self.block(s.then)
        self._guards = (*outer, Guard(at, False, no))
        self.block(s.orelse)
        self._guards = outer
        for var, a, b in zip(s.results, s.then.yields, s.orelse.yields, strict=True):
            if var.type.is_integer:
                self.integers.merged(var, (self.integers.form(a), self.integers.form(b)))

    def _enter(self, s: For | While, bound: tuple[Var, ...]) -> Loop:
        self._bind(s.results)
        parent = self._path[-1] if self._path else None
        loop = Loop(s, parent, len(self._path), first=self._position + 1)
        self._path = (*self._path, loop)
        self._bind(bound)
        return loop

    def _leave(self, loop: Loop) -> None:
        self._path = self._path[:-1]
        self._position += 1
        loop.last = self._position

    def _for(self, s: For) -> None:
        start, stop = self.integers.form(s.start), self.integers.form(s.stop)
        loop = self._enter(s, (s.index, *s.carried))
        loop.start, loop.stop = start, stop
        if s.goes_on is None:
            loop.trips = _trips(start, stop, s.step)
        self.loops[s.index.name] = loop
        self.integers.index(s, loop)
        self.block(s.body)
        self._leave(loop)

    def _while(self, s: While) -> None:
        loop = self._enter(s, s.carried)
        self.block(s.condition)
        self.block(s.body)
        self._leave(loop)

    def _derive(self, s: Derive) -> None:
        self._bind((*s.results, *s.params))
        self.block(s.body)

    def _call(self, s: Call) -> None:
        """A call also counts as reading what its rules read, since its derivative will read that."""
        self._bind((*s.results, *parameters(s)))
        for b in blocks(s):
            self.block(b)
        for var, y in zip(s.results, s.body.yields, strict=True):
            if var.type.is_integer:
                self.integers.merged(var, (self.integers.form(y),))


def _trips(start: Affine, stop: Affine, step: int) -> int | None:
    length = stop - start
    return max(0, -(-length.constant // step)) if length.is_constant else None


def is_write(access: Access) -> bool:
    """Whether `access` writes its memory."""
    return access.kind != "load"


def shown(memory: Memory) -> str:
    """The memory as a person writes it: ``x``, ``x.grad``, ``x.grad.dual``."""
    return ".".join((memory.name, *({"bar": "grad", "dot": "dual"}.get(d, d) for d in memory.derivative)))


def never_runs(access: Access) -> bool:
    """Whether a loop around `access` has the known trip count 0."""
    return any(loop.trips == 0 for loop in access.loops)
