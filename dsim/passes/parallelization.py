"""Parallelization: marks every loop whose iterations may run in any order and concurrently.

The independence analysis decides, separately for each kernel: a parallel loop of the primal need not be
parallel in the tangent. A person's own setting for a loop overrides it. A parallel loop that counts down, as
in adjoints, is turned to count up, which vectorises better.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace

from dsim.analysis.dependence.independence import loop_independence
from dsim.ir.build import Builder, Names, const
from dsim.ir.nodes import Atom, Block, For, KernelIR, Let, Statement, Var
from dsim.ir.walk import bound_names, statements, with_blocks
from dsim.passes.algebraic_simplification import Definitions, split


def parallel(kernel: KernelIR, told: Mapping[Var, bool] | None = None) -> KernelIR:
    """`kernel` with `For.parallel` set where the iterations are independent.

    Parameters
    ----------
    kernel : KernelIR
        Any kernel.
    told : mapping of Var to bool, optional
        By the index of a loop, the person's setting, which overrides the analysis.
    """
    free = {index: verdict.independent for index, verdict in loop_independence(kernel).items()}
    marker = _Marker(kernel, {**free, **(told or {})})
    return replace(kernel, body=marker.block(kernel.body))


def in_series(kernel: KernelIR, loops: Collection[int] | None = None) -> KernelIR:
    """`kernel` with loops made serial: those with these statement numbers, or all."""
    chosen = {id(s) for n, s in enumerate(statements(kernel.body)) if loops is None or n in loops}

    def block(b: Block) -> Block:
        return Block(tuple(map(statement, b.statements)), b.yields)

    def statement(s: Statement) -> Statement:
        changed = with_blocks(s, block)
        return replace(changed, parallel=False) if isinstance(changed, For) and id(s) in chosen else changed

    return replace(kernel, body=block(kernel.body))


class _Marker:
    def __init__(self, kernel: KernelIR, free: Mapping[Var, bool]) -> None:
        self.free = free
        self.exact = kernel.exact
        self.builder = Builder(Names(bound_names(kernel)))
        self.made: Definitions = {}

    def block(self, block: Block) -> Block:
        return Block(self.statements(block.statements), block.yields)

    def statements(self, given: Iterable[Statement]) -> tuple[Statement, ...]:
        with self.builder.block() as out:
            for s in given:
                if isinstance(s, Let):
                    self.made[s.var.name] = s
                    self.builder.add(s)
                else:
                    self.builder.add(self.marked(with_blocks(s, self.block)))
        return tuple(out)

    def marked(self, s: Statement) -> Statement:
        if not isinstance(s, For):
            return s
        s = s if self.free[s.index] == s.parallel else replace(s, parallel=not s.parallel)
        return self.upwards(s) if s.parallel and s.step == -1 else s

    def upwards(self, s: For) -> For:
        """`s` with its range reversed, if no end overflows and no sum depends on the order."""
        if s.goes_on is not None or (self.exact and s.carried):
            return s
        first, last = self.after(s.stop), self.after(s.start)
        return s if first is None or last is None else replace(s, start=first, stop=last, step=1)

    def after(self, end: Atom) -> Atom | None:
        """``end + 1``; None if that may overflow."""
        base, offset = split(end, self.made)
        if base is None:
            return const(offset + 1, end.type) if const(offset + 1, end.type).value > offset else None
        if offset >= 0:
            return None
        return self.builder.let("add", base, const(offset + 1, end.type), hint="end")
