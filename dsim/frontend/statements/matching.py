"""`match`: the cases that the form of the subject excludes are dropped, the others become branches."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from dsim.frontend.expressions import patterns
from dsim.frontend.expressions.assign import assign_name
from dsim.frontend.expressions.branches import choose, fork
from dsim.frontend.expressions.logic import truth
from dsim.frontend.expressions.patterns import Matched
from dsim.frontend.frames.frame import Frame
from dsim.frontend.values.structure import scalars
from dsim.frontend.values.values import Value
from dsim.ir.nodes import Atom, Const


def lower(f: Frame, s: ast.Match, needed: frozenset[str] | None) -> None:
    """A whole ``match``."""
    subject, stopped = f.value(s.subject, "subject"), f.emit.stopped
    _cases(f, s.cases, subject, needed)
    f.emit.stopped = stopped  # also after a case that is taken for certain


def _cases(f: Frame, cases: Sequence[ast.match_case], subject: Value, needed: frozenset[str] | None) -> None:
    """The first of `cases` that fits, as Python tries them."""
    if not cases:
        return
    case = cases[0]
    found = patterns.match(f, case.pattern, subject)

    def rest() -> None:
        _cases(f, cases[1:], subject, needed)

    def body() -> None:
        _bind(f, found)
        f.run(case.body, needed)

    holds = found.holds
    if case.guard is not None and holds is not False:
        holds = _guarded(f, found, case.guard)
    known = holds.value if isinstance(holds, Const) else holds
    if not isinstance(known, bool):
        fork(f, holds, body, rest, needed)
    elif known:  # what it assigns remains: the form of the subject has selected it, as `static` would
        body()
    else:
        rest()


def _guarded(f: Frame, found: Matched, guard: ast.expr) -> Atom | bool:
    """Whether the pattern fits and its guard holds; names are bound where the pattern fits, as in Python."""

    def holds() -> Value:
        _bind(f, found)
        return truth(f, guard)

    with f.at(guard):
        return choose(f, found.holds, holds, lambda: False, "t")


def _bind(f: Frame, found: Matched) -> None:
    for name, (value, node) in found.captures.items():
        target = ast.copy_location(ast.Name(name, ast.Store()), node)
        if isinstance(value, str | None) or not (scalars(value) or isinstance(value, list)):
            f.bind(name, value, target)  # known at compile time, such as a function or another object
        else:
            assign_name(f, target, value, target)
