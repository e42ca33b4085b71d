"""Says of every loop whether its iterations may run in any order, at once.

What the analysis finds decides, anew for each kernel: that a loop of the primal is parallel says nothing
about the same loop of a tangent. Only what the person said about a loop goes before it. A loop that may
run in any order and counts down (adjoints do) counts up instead: that is what vector units are made for.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace

from dsim.analysis.independence import loop_independence
from dsim.ir.build import Builder, Names, const
from dsim.ir.nodes import Atom, Block, For, Kernel, Let, Statement, Var
from dsim.ir.walk import bound_names, statements, with_blocks
from dsim.passes.algebraic_simplification import Definitions, split


def parallel(kernel: Kernel, told: Mapping[Var, bool] | None = None) -> Kernel:
    """`kernel` with `For.parallel` set where the iterations are independent.

    Parameters
    ----------
    kernel : Kernel
        Any kernel.
    told : mapping of Var to bool, optional
        By the index of a loop, whether it is parallel whatever the analysis says.
    """
    free = {index: verdict.independent for index, verdict in loop_independence(kernel).items()}
    marker = _Marker(kernel, {**free, **(told or {})})
    return replace(kernel, body=marker.block(kernel.body))


def in_series(kernel: Kernel, loops: Collection[int] | None = None) -> Kernel:
    """`kernel` with loops that are not parallel: those of these numbers in its text, or all."""
    chosen = {id(s) for n, s in enumerate(statements(kernel.body)) if loops is None or n in loops}

    def block(b: Block) -> Block:
        return Block(tuple(map(statement, b.statements)), b.yields)

    def statement(s: Statement) -> Statement:
        changed = with_blocks(s, block)
        return replace(changed, parallel=False) if isinstance(changed, For) and id(s) in chosen else changed

    return replace(kernel, body=block(kernel.body))


class _Marker:
    def __init__(self, kernel: Kernel, free: Mapping[Var, bool]) -> None:
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
        """`s` from its last index to its first, where no end overflows and no sum must keep its order."""
        if s.goes_on is not None or (self.exact and s.carried):
            return s
        first, last = self.after(s.stop), self.after(s.start)
        return s if first is None or last is None else replace(s, start=first, stop=last, step=1)

    def after(self, end: Atom) -> Atom | None:
        """``end + 1``; None if `end` may be the greatest number of its type."""
        base, offset = split(end, self.made)
        if base is None:
            return const(offset + 1, end.type) if const(offset + 1, end.type).value > offset else None
        if offset >= 0:
            return None
        return self.builder.let("add", base, const(offset + 1, end.type), hint="end")
