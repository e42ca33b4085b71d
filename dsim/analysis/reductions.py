"""Which carried values of a loop are reductions: each trip only does ``s += …``, with no other use of `s`.

For these the order of trips does not matter (for sums of floats: up to rounding).
"""

from __future__ import annotations

from collections import Counter
from typing import assert_never

from dsim.ir.nodes import (
    Accumulate,
    AccumulateOp,
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
    Print,
    Probe,
    RollBack,
    Statement,
    Store,
    UndoLog,
    Var,
    While,
)
from dsim.ir.primitive import Primitive
from dsim.ir.primitives import TABLE
from dsim.ir.walk import binds, operands, statements


class Reductions:
    """Finds reductions in the loops of one kernel; it counts uses at the first call of `of`."""

    def __init__(self, kernel: KernelIR) -> None:
        self.kernel = kernel
        self._uses: Counter[str] | None = None
        self._made_by: dict[str, Statement] = {}

    def of(self, loop: For) -> dict[Var, AccumulateOp | None]:
        """The operation of each carried value of `loop`; None for those that are not reductions."""
        self._count()
        return {c: self._operation(c, y) for c, y in zip(loop.carried, loop.body.yields, strict=True)}

    def _operation(self, carried: Var, yielded: Atom) -> AccumulateOp | None:
        chain = _Chain(self._made_by)
        if not chain.follow(carried, yielded) or len(chain.ops) != 1:
            return None
        assert self._uses is not None
        if any(self._uses[name] != n for name, n in chain.uses.items()):
            return None
        return next(iter(chain.ops))

    def _count(self) -> None:
        if self._uses is not None:
            return
        self._uses = Counter()
        self._note_yields(self.kernel.body)
        for s in statements(self.kernel.body):
            self._uses.update(a.name for a in operands(s) if isinstance(a, Var))
            for v in binds(s):
                self._made_by[v.name] = s
            match s:
                case Let() | Load() | Store() | Accumulate() | Alloc() | Probe() | Print() | Assert():
                    pass
                case UndoLog() | Append() | LogMark() | RollBack() | Compact() | Derive() | Call():
                    pass
                case If():
                    self._note_yields(s.then)
                    self._note_yields(s.orelse)
                case For():
                    self._note_yields(s.body)
                    if s.goes_on is not None:
                        self._uses[s.goes_on.name] += 1
                case While():
                    self._note_yields(s.condition)
                    self._note_yields(s.body)
                case _:
                    assert_never(s)

    def _note_yields(self, block: Block) -> None:
        assert self._uses is not None
        self._uses.update(a.name for a in block.yields if isinstance(a, Var))


class _Chain:
    """The def-use chain from a carried value to the value that the body yields for it, with its uses."""

    def __init__(self, made_by: dict[str, Statement]) -> None:
        self.made_by = made_by
        self.ops: set[AccumulateOp] = set()
        self.uses: Counter[str] = Counter()
        self._known: dict[tuple[str, str], bool] = {}

    def follow(self, start: Var, end: Atom) -> bool:
        """Whether `end` combines `start` by the operations; counts the uses in the chain."""
        if not isinstance(end, Var):
            return False
        key = (start.name, end.name)
        if key not in self._known:
            self._known[key] = start.name == end.name or self._made_of(start, end)
        if self._known[key]:
            self.uses[end.name] += 1
        return self._known[key]

    def _made_of(self, start: Var, end: Var) -> bool:
        match self.made_by.get(end.name):
            case Let(op=op, args=args):
                return self._combined(start, TABLE[op], args)
            case If(results=results, then=then, orelse=orelse):
                at = results.index(end)
                return self.follow(start, then.yields[at]) and self.follow(start, orelse.yields[at])
            case For(results=results, goes_on=None) as s:
                at = results.index(end)
                return self.follow(s.carried[at], s.body.yields[at]) and self.follow(start, s.init[at])
            case Load() | Store() | Accumulate() | Alloc() | Probe() | Print() | Assert() | For():
                return False
            case While() | UndoLog() | Append() | LogMark() | RollBack() | Compact() | Derive() | Call():
                return False
            case None:
                return False
            case _ as never:
                assert_never(never)

    def _combined(self, start: Var, row: Primitive, args: tuple[Atom, ...]) -> bool:
        if row.reduction is None:
            return False
        among = args if row.reduction == row.name else args[:1]  # `s = x - s` is no sum
        if not any(self.follow(start, a) for a in among):
            return False
        self.ops.add(row.reduction)
        return True
