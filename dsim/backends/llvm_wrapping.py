"""Which loops may not become vectors: those with an index that wraps around in few bits.

LLVM 22 forgets the condition under which it takes ``zext(i4 j)`` for a number that grows evenly, when a
wider sum of it needs a condition, too: it then reads sixteen elements in a row where ``(j - 1) & 15`` goes
back to 0. See docs/decisions/0022-indices-that-wrap-around.md.
"""

from __future__ import annotations

from dsim.ir.nodes import (
    Accumulate,
    Atom,
    Block,
    Const,
    For,
    If,
    Let,
    Load,
    Record,
    Statement,
    Store,
    Var,
    While,
)
from dsim.ir.walk import statements

_MASKS = ("band", "shr")
_WIDE = 32  # so many bits do not wrap around before an index is outside of its memory


def wraps(loop: For | While) -> bool:
    """Whether an index of an access in `loop` comes from a value that wraps around there in few bits."""
    inside = list(statements(Block((loop,))))
    makers = {v: s for s in inside for v in _made(s)}
    seen: set[Var] = set()
    left: list[Atom] = [
        a for s in inside if isinstance(s, Load | Store | Accumulate | Record) for a in s.index
    ]
    while left:
        a = left.pop()
        if not isinstance(a, Var) or a in seen or a not in makers:
            continue
        seen.add(a)
        s = makers[a]
        if isinstance(s, Let):
            if _narrow(s):
                return True
            left.extend(s.args)
        else:
            left.extend(_sources(s, a))
    return False


def _made(s: Statement) -> tuple[Var, ...]:
    """The variables that `s` gives values to which are computed in the loop."""
    if isinstance(s, Let):
        return (s.var,)
    if isinstance(s, If):
        return s.results
    return (*s.carried, *s.results) if isinstance(s, For | While) else ()


def _sources(s: Statement, v: Var) -> tuple[Atom, ...]:
    """What `v`, carried or given by `s`, may be."""
    if isinstance(s, If):
        at = s.results.index(v)
        return s.then.yields[at], s.orelse.yields[at]
    assert isinstance(s, For | While)
    at = (s.carried if v in s.carried else s.results).index(v)
    return s.init[at], s.body.yields[at], s.carried[at]


def _narrow(s: Let) -> bool:
    t = s.var.type
    if not t.is_integer or t.kind == "bool":
        return False
    if t.bits < _WIDE or s.op in _MASKS:
        return True
    divisor = s.args[1] if s.op in ("mod", "floordiv") else None  # `j - j // 16 * 16` becomes a mask
    return isinstance(divisor, Const) and divisor.value > 0 and int(divisor.value).bit_count() == 1
