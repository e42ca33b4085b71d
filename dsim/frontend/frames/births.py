"""In a watched kernel, a probe behind each primitive of floats, which finds the origin of NaN and infinity.

It visits the whole lowered kernel, as `kinks.py` does, and skips the same functions.
"""

from __future__ import annotations

from collections.abc import Iterator

from dsim.diagnostics.places import outside
from dsim.frontend.frames.watches import Watches
from dsim.ir.nodes import Block, Call, Derive, Let, Memory, Probe, Statement, Var
from dsim.ir.types import f64
from dsim.ir.walk import with_blocks


def with_births(block: Block, watches: Watches) -> Block:
    """`block`, with a probe behind each primitive that computes a float from floats."""
    return Block(tuple(made for s in block.statements for made in _watched(s, watches)), block.yields)


def _watched(s: Statement, watches: Watches) -> Iterator[Statement]:
    yield s if isinstance(s, Derive | Call) else with_blocks(s, lambda b: with_births(b, watches))
    if not isinstance(s, Let) or not s.var.type.is_float or s.op in ("copy", "stop", "select"):
        return
    floats = tuple(a for a in s.args if isinstance(a, Var) and a.type.is_float)
    place, calls = outside(s.origin.span, s.origin.inlined)
    if floats and place is not None:
        slot = watches.birth(place, calls)
        yield Probe(Memory("", f64, ()), slot.row, s.var, source=floats, origin=s.origin)
