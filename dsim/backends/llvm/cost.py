"""A cost estimate of one run of a block, in simple instructions, for choosing chunks."""

from __future__ import annotations

from dsim.ir import ranges
from dsim.ir.nodes import Block, For, Let, Print, Statement, While
from dsim.ir.primitives import TABLE
from dsim.ir.walk import blocks

_UNKNOWN_TRIPS = 16


def cost(block: Block) -> int:
    """Simple instructions of one run of `block`, unknown loops counted as 16 trips."""
    return sum(map(one, block.statements))


def one(s: Statement) -> int:
    """The same of a single statement."""
    if isinstance(s, Let):
        return TABLE[s.op].cost
    inside = sum(map(cost, blocks(s)))
    if isinstance(s, For):
        return 1 + trips(s) * inside
    if isinstance(s, While):
        return 1 + _UNKNOWN_TRIPS * inside
    return 1000 if isinstance(s, Print) else 1 + inside


def trips(s: For) -> int:
    """How often the body of `s` runs, where that is known, else a guess."""
    known = known_trips(s)
    return _UNKNOWN_TRIPS if known is None else known


def known_trips(s: For) -> int | None:
    """How often the body of `s` runs at most, where that is known, as far as 64 bits count."""
    known = ranges.known_trips(s)
    return None if known is None else min(known, ranges.MOST)
