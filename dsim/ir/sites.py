"""Site numbers: each statement of a kernel that accesses memory has one; see `site` in `nodes.py`."""

from __future__ import annotations

from dataclasses import replace
from itertools import count

from dsim.ir.nodes import Accumulate, Append, Block, KernelIR, Load, Statement, Store
from dsim.ir.walk import with_blocks


def number(kernel: KernelIR) -> KernelIR:
    """`kernel` with its loads, stores, accumulations and appends numbered 0, 1, 2, … in program order."""
    numbers = count()

    def block(b: Block) -> Block:
        return Block(tuple(map(statement, b.statements)), b.yields)

    def statement(s: Statement) -> Statement:
        if isinstance(s, Load | Store | Accumulate | Append):
            return replace(s, site=next(numbers))
        return with_blocks(s, block)

    return replace(kernel, body=block(kernel.body))
