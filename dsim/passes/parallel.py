"""Says of every loop whether its iterations may run in any order, at once.

What the analysis finds decides, anew for each kernel: that a loop of the primal is parallel says nothing
about the same loop of a tangent. Only what the person said about a loop goes before it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from dsim.analysis.independence import loop_independence
from dsim.ir.nodes import Block, For, Kernel, Statement, Var
from dsim.ir.walk import with_blocks


def parallel(kernel: Kernel, told: Mapping[Var, bool] | None = None) -> Kernel:
    """`kernel` with `For.parallel` set where the iterations are independent.

    Parameters
    ----------
    kernel : Kernel
        Any kernel.
    told : mapping of Var to bool, optional
        By the index of a loop, whether it is parallel whatever the analysis says.
    """
    known = told or {}
    verdicts = loop_independence(kernel)

    def block(b: Block) -> Block:
        return Block(tuple(map(statement, b.statements)), b.yields)

    def statement(s: Statement) -> Statement:
        s = with_blocks(s, block)
        if not isinstance(s, For):
            return s
        free = known.get(s.index, verdicts[s.index].independent)
        return s if free == s.parallel else replace(s, parallel=free)

    return replace(kernel, body=block(kernel.body))
