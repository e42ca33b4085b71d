"""Loops that must not be vectorised: those with an index that wraps around in few bits.

LLVM 22 forgets the condition under which it takes ``zext(i4 j)`` for a number that grows evenly, when a
wider sum of it needs a condition, too: it then reads sixteen elements in a row where ``(j - 1) & 15`` goes
back to 0. See docs/decisions/0022-indices-that-wrap-around.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dsim.ir import nodes as ir
from dsim.ir.primitives import TABLE
from dsim.ir.walk import statements

_WIDE = 32  # so many bits do not wrap around before an index is outside its memory


def wraps(loop: ir.For | ir.While, near: Mapping[ir.Var, Any]) -> bool:
    """Whether an index of an access in `loop` comes from a value that wraps around there in few bits.

    The remainders `near` do not, since they are written as choices.
    """
    inside = list(statements(ir.Block((loop,))))
    makers = {v: s for s in inside for v in _made(s)}
    stored: dict[ir.MemoryKey, list[ir.Atom]] = {}
    for s in inside:
        if isinstance(s, ir.Store | ir.Accumulate):
            stored.setdefault(s.memory.key, []).append(s.value)
    seen: set[ir.Var] = set()
    left: list[ir.Atom] = [
        a for s in inside if isinstance(s, ir.Load | ir.Store | ir.Accumulate | ir.Append) for a in s.index
    ]
    while left:
        a = left.pop()
        if not isinstance(a, ir.Var) or a in seen or a not in makers:
            continue
        seen.add(a)
        s = makers[a]
        if isinstance(s, ir.Let):
            if a not in near and _narrow(s):
                return True
            left.extend(s.args)
        else:
            left.extend(_sources(s, a, stored))
    return False


def _made(s: ir.Statement) -> tuple[ir.Var, ...]:
    """The variables that `s` gives values to which are computed in the loop."""
    if isinstance(s, ir.Let | ir.Load):
        return (s.var,)
    if isinstance(s, ir.Accumulate):
        return () if s.old is None else (s.old,)
    if isinstance(s, ir.If):
        return s.results
    return (*s.carried, *s.results) if isinstance(s, ir.For | ir.While) else ()


def _sources(
    s: ir.Statement, v: ir.Var, stored: Mapping[ir.MemoryKey, Sequence[ir.Atom]]
) -> Sequence[ir.Atom]:
    """What `v`, read, carried or given by `s`, may be, and what decides it; `stored`: what is written."""
    if isinstance(s, ir.Load | ir.Accumulate):  # LLVM may know what was stored there
        return stored.get(s.memory.key, ())
    if isinstance(s, ir.If):
        at = s.results.index(v)
        return s.cond, s.then.yields[at], s.orelse.yields[at]
    assert isinstance(s, ir.For | ir.While)
    at = (s.carried if v in s.carried else s.results).index(v)
    return s.init[at], s.body.yields[at], s.carried[at]


def _narrow(s: ir.Let) -> bool:
    """Whether LLVM may take the value of `s` for one of few bits."""
    t = s.var.type
    if not t.is_integer or t.kind == "bool":
        return False
    if t.bits < _WIDE:
        return True
    if s.op not in ("mod", "floordiv"):
        return not TABLE[s.op].full_width
    divisor = s.args[1]  # `j - j // 16 * 16` becomes a mask, and so may what is divided by -16
    return not isinstance(divisor, ir.Const) or abs(int(divisor.value)).bit_count() == 1
