"""Which loops may find out afterwards that an index was out of bounds.

A check that branches out of a loop keeps it from becoming vectors. In a loop listed here, an index is
clamped without a branch and only whether any was clamped is kept. If so, the loop is run once more
without effects, to find the first: that is right where nothing that the indices depend on has been
overwritten since.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from dsim.analysis.access_rules import overwritten
from dsim.analysis.effects import Effects
from dsim.ir.nodes import (
    Accumulate,
    Alloc,
    Append,
    Assert,
    Atom,
    Block,
    Compact,
    For,
    If,
    Let,
    Load,
    LogMark,
    Print,
    RollBack,
    Statement,
    Store,
    UndoLog,
    Var,
    While,
)
from dsim.ir.walk import statements

# loops with one of these are left to checks that branch
_NOT = (While, Alloc, UndoLog, Append, LogMark, RollBack, Compact, Print, Assert)


def deferred(loop: For, unchecked: Callable[[int], bool], facts: Effects) -> bool:
    """Whether the checks in a top-level loop may be looked at after it."""
    if not loop.parallel or loop.goes_on is not None:
        return False
    inside = tuple(statements(loop.body))
    checked = [
        s for s in inside if isinstance(s, Load | Store | Accumulate) and s.index and not unchecked(s.site)
    ]
    if not any(isinstance(s, Load | Accumulate) for s in checked):
        return False
    if any(isinstance(s, _NOT) or (isinstance(s, Accumulate) and s.old is not None) for s in inside):
        return False
    if any(s.memory.private for s in inside if isinstance(s, Load | Store | Accumulate)):
        return False
    needed = _Slice(loop).sites(i for s in checked for i in s.index)
    return needed is not None and not overwritten(facts.kernel, needed, facts)


class _Slice:
    """What values depend on, within one loop."""

    def __init__(self, loop: For) -> None:
        self.loop = loop
        self.made: dict[str, Statement | tuple[Atom, ...]] = {}
        for s in statements(Block((loop,))):
            match s:
                case Let(var=var) | Load(var=var):
                    self.made[var.name] = s
                case If(results=results):
                    for r, a, b in zip(results, s.then.yields, s.orelse.yields, strict=True):
                        self.made[r.name] = (a, b)
                case For():
                    ways = zip(s.carried, s.results, s.init, s.body.yields, strict=True)
                    for c, r, first, last in ways:
                        self.made[c.name] = self.made[r.name] = (first, last)
                case _:
                    pass

    def sites(self, roots: Iterator[Atom]) -> set[int] | None:
        """The sites of the loads that `roots` and branches depend on; None if one of them has no site."""
        found: set[int] = set()
        seen: set[str] = set()
        waiting = [*roots, *self._control()]
        while waiting:
            a = waiting.pop()
            if not isinstance(a, Var) or a.name in seen:
                continue
            seen.add(a.name)
            made = self.made.get(a.name, ())
            if isinstance(made, Load):
                if made.site < 0:
                    return None
                found.add(made.site)
                waiting += made.index
            else:
                waiting += made.args if isinstance(made, Let) else made if isinstance(made, tuple) else ()
        return found

    def _control(self) -> Iterator[Atom]:
        for s in statements(self.loop.body):
            if isinstance(s, If):
                yield s.cond
            elif isinstance(s, For):
                yield s.start
                yield s.stop
                if s.goes_on is not None:
                    yield s.goes_on
