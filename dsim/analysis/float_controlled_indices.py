"""Whether indices depend on a counter that comparisons of floats control.

``if f(x[i]) > 0: n[None] += 1; y[n[None]] = …``: an adjoint that rounds `f` differently may count one more or
one less, and then every later index is wrong. A comparison that affects only its own trip is harmless: at
the tie the two branches meet, and no other trip changes.

Conservative: an over-approximation.
"""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Set as AbstractSet
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
    Const,
    Derive,
    For,
    If,
    KernelIR,
    Let,
    Load,
    LogMark,
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
from dsim.ir.walk import binds, blocks, operands, statements


def has_float_controlled_indices(kernel: KernelIR) -> bool:
    """Whether an index depends on loop-carried integers that comparisons of floats control."""
    body = tuple(statements(kernel.body))
    if not any(isinstance(s, Let) and _decides(s) for s in body):
        return False
    flow = _Flow()
    before = -1
    while before != flow.size:
        before = flow.size
        flow.block(kernel.body, False)
    touched = (s for s in body if isinstance(s, Load | Store | Accumulate))
    return any(a in flow.counted for s in touched for a in s.index)


def _decides(s: Let) -> bool:
    """Whether `s` computes a value that is not a float from floats."""
    return not s.var.type.is_float and any(a.type.is_float for a in s.args)


class _Flow:
    """The integers and bools that depend on comparisons of floats.

    Attributes
    ----------
    decided : set of Var
        Those that depend on such a comparison.
    counted : set of Var or MemoryKey
        Those that depend on one of an earlier trip; through a memory, on one of an earlier write.
    """

    def __init__(self) -> None:
        self.decided: set[Var] = set()
        self.counted: set[Var | MemoryKey] = set()

    @property
    def size(self) -> int:
        """The size of both sets; it only grows, until the fixed point."""
        return len(self.decided) + len(self.counted)

    def any(self, atoms: Iterable[Atom], known: AbstractSet[object]) -> bool:
        return any(a in known for a in atoms if not isinstance(a, Const))

    def note(self, var: Var | None, sources: Iterable[Atom], decided: bool = False) -> None:
        """`var` depends on `sources`, or directly on a comparison if `decided`."""
        if var is None or var.type.is_float:
            return
        sources = tuple(sources)
        if decided or self.any(sources, self.decided):
            self.decided.add(var)
        if self.any(sources, self.counted):
            self.counted.add(var)

    def block(self, block: Block, chosen: bool) -> None:
        """Propagates through `block`; `chosen` if a comparison of floats decides whether it runs."""
        for s in block.statements:
            self.statement(s, chosen)

    def statement(self, s: Statement, chosen: bool) -> None:
        match s:
            case Let():
                self.note(s.var, s.args, _decides(s))
            case Load():
                self.read(s.var, s)
            case Store() | Accumulate():
                self.write(s, chosen)
            case If():
                inner = chosen or s.cond in self.decided
                self.block(s.then, inner)
                self.block(s.orelse, inner)
                for r, a, b in zip(s.results, s.then.yields, s.orelse.yields, strict=True):
                    self.note(r, (a, b, s.cond))
            case For() | While():
                self.loop(s, chosen)
            case (
                Alloc()
                | Probe()
                | Print()
                | Assert()
                | UndoLog()
                | Append()
                | LogMark()
                | RollBack()
                | Compact()
                | Derive()
                | Call()
            ):
                for b in blocks(s):
                    self.block(b, chosen)
                for v in binds(s):
                    self.note(v, operands(s), decided=True)
            case _:
                assert_never(s)

    def read(self, var: Var | None, s: Load | Accumulate) -> None:
        self.note(var, s.index)
        if var is not None and not var.type.is_float and s.memory.key in self.counted:
            self.decided.add(var)
            self.counted.add(var)

    def write(self, s: Store | Accumulate, chosen: bool) -> None:
        decided = chosen or self.any((*s.index, s.value), self.decided)
        if decided and not s.memory.type.is_float:
            self.counted.add(s.memory.key)
        if isinstance(s, Accumulate):
            self.read(s.old, s)

    def loop(self, s: For | While, chosen: bool) -> None:
        ends = (s.start, s.stop) if isinstance(s, For) else s.condition.yields
        inner = chosen or self.any(ends, self.decided)
        if isinstance(s, For):
            inner = inner or s.goes_on in self.decided
            self.note(s.index, ends)
        else:
            self.block(s.condition, inner)
        self.block(s.body, inner)
        for c, r, first, last in zip(s.carried, s.results, s.init, s.body.yields, strict=True):
            if last in self.decided and last != c and not c.type.is_float:
                self.counted.add(c)
                self.decided.add(c)
            self.note(c, (first, last))
            self.note(r, (first, last, c), inner)
