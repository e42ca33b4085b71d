"""Loops whose bounds checks may be deferred to their end.

A check that branches out of a loop prevents vectorisation. In a loop with deferred checks, an index is
clamped without a branch, and a flag records whether any was clamped. If so, the loop is run again
without effects, to find the first: that is correct where no value that the indices depend on has been
overwritten since.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import assert_never

from dsim.analysis.access_rules import overwritten
from dsim.analysis.effects import Effects
from dsim.ir import nodes as ir
from dsim.ir.walk import statements

# loops with one of these keep checks that branch
_NOT = (ir.While, ir.Alloc, ir.UndoLog, ir.Append, ir.LogMark, ir.RollBack, ir.Compact, ir.Print, ir.Assert)


def deferred(loop: ir.For, unchecked: Callable[[int], bool], facts: Effects) -> bool:
    """Whether the checks in a top-level loop may be deferred to its end."""
    if not loop.parallel or loop.goes_on is not None:
        return False
    inside = tuple(statements(loop.body))
    checked = [
        s
        for s in inside
        if isinstance(s, ir.Load | ir.Store | ir.Accumulate) and s.index and not unchecked(s.site)
    ]
    if not any(isinstance(s, ir.Load | ir.Accumulate) for s in checked):
        return False
    if any(isinstance(s, _NOT) or (isinstance(s, ir.Accumulate) and s.old is not None) for s in inside):
        return False
    if any(s.memory.private for s in inside if isinstance(s, ir.Load | ir.Store | ir.Accumulate)):
        return False
    needed = _Slice(loop).sites(i for s in checked for i in s.index)
    return needed is not None and not overwritten(facts.kernel, needed, facts)


class _Slice:
    """A backward slice within one loop: the values that given values depend on."""

    def __init__(self, loop: ir.For) -> None:
        self.loop = loop
        self.made: dict[str, ir.Statement | tuple[ir.Atom, ...]] = {}
        for s in statements(ir.Block((loop,))):
            match s:
                case ir.Let(var=var) | ir.Load(var=var):
                    self.made[var.name] = s
                case ir.If(results=results):
                    for r, a, b in zip(results, s.then.yields, s.orelse.yields, strict=True):
                        self.made[r.name] = (a, b)
                case ir.For():
                    ways = zip(s.carried, s.results, s.init, s.body.yields, strict=True)
                    for c, r, first, last in ways:
                        self.made[c.name] = self.made[r.name] = (first, last)
                case (
                    ir.Store()
                    | ir.Accumulate()
                    | ir.Alloc()
                    | ir.Probe()
                    | ir.Print()
                    | ir.Assert()
                    | ir.While()
                ):
                    pass
                case (
                    ir.UndoLog()
                    | ir.Append()
                    | ir.LogMark()
                    | ir.RollBack()
                    | ir.Compact()
                    | ir.Derive()
                    | ir.Call()
                ):
                    pass
                case _:
                    assert_never(s)

    def sites(self, roots: Iterator[ir.Atom]) -> set[int] | None:
        """The sites of the loads that `roots` and branches depend on; None if one of them has no site."""
        found: set[int] = set()
        seen: set[str] = set()
        waiting = [*roots, *self._control()]
        while waiting:
            a = waiting.pop()
            if not isinstance(a, ir.Var) or a.name in seen:
                continue
            seen.add(a.name)
            made = self.made.get(a.name, ())
            if isinstance(made, ir.Load):
                if made.site < 0:
                    return None
                found.add(made.site)
                waiting += made.index
            else:
                waiting += made.args if isinstance(made, ir.Let) else made if isinstance(made, tuple) else ()
        return found

    def _control(self) -> Iterator[ir.Atom]:
        for s in statements(self.loop.body):
            if isinstance(s, ir.If):
                yield s.cond
            elif isinstance(s, ir.For):
                yield s.start
                yield s.stop
                if s.goes_on is not None:
                    yield s.goes_on
