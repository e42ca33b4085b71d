"""Integers that data choose: ``cell[p]`` and ``cell[p] + 1``, but not ``2 * p + 1``."""

from __future__ import annotations

from dsim.ir.nodes import Block, For, Let, Var, While
from dsim.ir.walk import binds, statements

_REGULAR = ("add", "sub", "mul", "neg")


def chosen_by_data(body: Block) -> set[Var]:
    """The values in a loop that are not sums or products of indices of loops and of what is outside."""
    found: set[Var] = set()
    for s in statements(body):
        if isinstance(s, Let) and s.op in _REGULAR:
            if any(isinstance(a, Var) and a in found for a in s.args):
                found.add(s.var)
            continue
        found.update(binds(s))
        if isinstance(s, For | While):
            found.update(s.carried)
    return found
