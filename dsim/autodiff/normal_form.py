"""The normal form for reverse mode: pure conditions of `While`, no undo logs, loops that terminate."""

from __future__ import annotations

from dataclasses import replace

from dsim.diagnostics import Diagnostic, GradientError
from dsim.ir.build import TRUE, Names
from dsim.ir.nodes import Accumulate, Block, If, KernelIR, Statement, Store, UndoLog, Var, While
from dsim.ir.types import u1
from dsim.ir.walk import bound_names, statements, substitute, with_blocks


def prepared(kernel: KernelIR, distinct: bool) -> KernelIR:
    """`kernel` with conditions that write moved into the bodies of their loops.

    ``while c: b`` becomes ``go = true; while go: go = c; if go: b``, so that what `c` writes is part of a
    trip. Every loop terminates, since the adjoint runs after the kernel. With `distinct`, no two statements
    of the result are the same object.
    """
    if not distinct and not any(isinstance(s, While) for s in statements(kernel.body)):
        return kernel
    names = Names(bound_names(kernel))

    def block(b: Block) -> Block:
        return Block(tuple(map(statement, b.statements)), b.yields)

    def statement(s: Statement) -> Statement:
        s = with_blocks(replace(s), block)
        if not isinstance(s, While):
            return s
        return replace(_plain(s, names) if _writes(s) else s, ends=True)

    return replace(kernel, body=block(kernel.body))


def _writes(s: While) -> bool:
    return any(isinstance(c, Store | Accumulate) for c in statements(s.condition))


def _plain(s: While, names: Names) -> While:
    on, gone = (Var(names.fresh("go"), u1) for _ in range(2))
    inner = tuple(Var(names.fresh(c.name), c.type) for c in s.carried)
    results = tuple(Var(names.fresh(c.name), c.type) for c in s.carried)
    given = dict(zip(s.carried, inner, strict=True))
    condition = substitute(s.condition, given)
    (cond,) = condition.yields
    arm = substitute(s.body, given)
    branch = If(cond, arm, Block((), inner), results, s.origin)
    body = Block((*condition.statements, branch), (*results, cond))
    return replace(
        s,
        condition=Block((), (on,)),
        body=body,
        carried=(*inner, on),
        init=(*s.init, TRUE),
        results=(*s.results, gone),
    )


def refuse_undo_logs(kernel: KernelIR, why: str = "") -> None:
    """Raises if `kernel` is an adjoint that repeats writes; `why` says why it has no adjoint."""
    for s in statements(kernel.body):
        if isinstance(s, UndoLog):
            of = ".".join((s.memory.name, *s.memory.derivative))
            message = f"the backward pass of `{kernel.name}` writes `{of}` again, and has none of its own"
            advice = "put `ad.FwdMode` around the tape instead, or write each step elsewhere"
            where = kernel.origin.span
            raise GradientError(Diagnostic("not-differentiable", message, where, why or "here", help=advice))
