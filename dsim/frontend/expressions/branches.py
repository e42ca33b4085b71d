"""Branches, and the join of the values that they assign: `If`, or `select` for pure branches."""

from __future__ import annotations

import operator
from collections.abc import Callable, Container

from dsim.frontend.frames.frame import Frame
from dsim.frontend.frames.scope import LIVE, hidden, readable
from dsim.frontend.values import advice
from dsim.frontend.values.emit import Emitter, limits
from dsim.frontend.values.structure import fits, labels, rebuilt, same, scalars
from dsim.frontend.values.values import (
    POISON,
    Mat,
    Poison,
    Scalar,
    Value,
    describe,
    filled,
    is_open,
    is_scalar,
    kind_of,
)
from dsim.ir.build import FALSE, TRUE, const
from dsim.ir.nodes import Atom, Block, Const, If, Let, Statement, Var
from dsim.ir.types import ScalarType


class _Absent:
    """The value of a name in a branch that does not assign it."""


ABSENT = _Absent()


class Side:
    """One branch: its statements, the names at its end, and what it yields."""

    def __init__(self) -> None:
        self.statements: list[Statement] = []
        self.values: dict[str, Value] = {}
        self.yields: list[Atom] = []

    @property
    def dead(self) -> bool:
        """Whether its end is never reached."""
        return self.values[LIVE] == FALSE


def fork(
    f: Frame,
    cond: Atom | bool,
    then: Callable[[], None],
    orelse: Callable[[], None],
    needed: frozenset[str] | None = None,
    in_both: Callable[[], Container[str]] = tuple,
) -> None:
    """Branches on `cond`; afterwards the locals hold the values of the branch taken.

    `needed` names the locals that are used later (None: any may be), `in_both` those that both branches
    assign: they remain where `cond` is known, and only one branch is lowered.
    """
    known = cond.value if isinstance(cond, Const) else cond
    if isinstance(known, bool):
        outer = dict(f.scope.values)
        (then if known else orelse)()
        f.scope.close(outer, _ONE_BRANCH, in_both())
        return
    assert not isinstance(cond, bool)
    before = dict(f.scope.values)
    sides = (_side(f, before, then), _side(f, before, orelse))
    f.scope.values = before
    results = _merge(f, sides, before, needed)
    emit(f.emit, cond, sides, results)


_ONE_BRANCH = "is assigned in one branch only and is not defined here"
_ONE_OPERAND = "is assigned in an operand that is not always computed"


def _side(f: Frame, before: dict[str, Value], run: Callable[[], None]) -> Side:
    side = Side()
    f.scope.values = dict(before)
    try:
        with f.emit.block(side.statements):
            run()
        side.values = f.scope.values
    finally:
        f.scope.values = before
    return side


def _merge(
    f: Frame,
    sides: tuple[Side, Side],
    before: dict[str, Value],
    needed: frozenset[str] | None,
    reason: str = _ONE_BRANCH,
) -> list[Var]:
    a, b = sides
    results: list[Var] = []
    for name in dict.fromkeys((*before, *a.values, *b.values)):
        va, vb = a.values.get(name, ABSENT), b.values.get(name, ABSENT)
        if va is vb or same(va, vb):
            f.scope.values[name] = va
        elif needed is not None and name not in needed and not hidden(name):
            f.scope.gone.setdefault(name, reason)
        elif (va is ABSENT or vb is ABSENT) and not _may_fill(name, a, b):
            f.scope.gone[name] = reason
        else:
            value = _joined(f, name, va, vb, sides, results)
            if value is not ABSENT:
                f.scope.values[name] = value
    return results


def _may_fill(name: str, a: Side, b: Side) -> bool:
    """Whether a side without `name` may yield any value for it, because nothing reads it from there."""
    return hidden(name) or (b if name in a.values else a).dead


def _joined(f: Frame, name: str, va: Value, vb: Value, sides: tuple[Side, Side], results: list[Var]) -> Value:
    if isinstance(va, Poison) or isinstance(vb, Poison):
        return POISON
    va, vb = (zeros(vb) if va is ABSENT else va), (zeros(va) if vb is ABSENT else vb)
    if not fits(va, vb):
        text = readable(name)
        help = advice.different(va, vb)
        if name == "#result":
            f.emit.refuse("return", f"one `return` gives {describe(va)}, another {describe(vb)}", help=help)
        f.scope.gone[name] = f"is {describe(va)} in one branch and {describe(vb)} in the other"
        if name not in f.scope.values:
            return ABSENT
        message = f"`{text}` is {describe(va)} in one branch and {describe(vb)} in the other"
        f.emit.refuse("type", message, help=help)
    return join(f.emit, readable(name), va, vb, sides, results)


def join(e: Emitter, name: str, va: Value, vb: Value, sides: tuple[Side, Side], results: list[Var]) -> Value:
    """One value for `va` of the first side and `vb` of the second; new results are appended."""
    atoms: list[Atom] = []
    pairs = zip(scalars(va), scalars(vb), labels(name, va), strict=True)
    for sa, sb, label in pairs:
        if same(sa, sb):
            atoms.append(e.atom(sa))
            continue
        e.joins(sa, sb)
        t = _type(e, sa, sb)
        for side, s in zip(sides, (sa, sb), strict=True):
            with e.builder.block(side.statements):
                side.yields.append(e.atom(s, t))
        results.append(e.builder.fresh(label, t))
        atoms.append(results[-1])
    return rebuilt(va, iter(atoms))


def _type(e: Emitter, a: Scalar, b: Scalar) -> ScalarType:
    """The common type of `a` and `b`: an untyped number takes that of the other, if this holds it."""
    for open_, other in ((a, b), (b, a)):
        if is_open(open_) and not is_open(other):
            to = e.type_of(other)
            return to if _holds(e, to, open_) else e.by_value((a, b))
    return e.by_value((a, b))


def _holds(e: Emitter, to: ScalarType, number: Scalar) -> bool:
    """Whether `to` holds an untyped number. A float rounds it; others would make another number of it."""
    if to.is_float:
        return True
    if not to.is_integer or kind_of(number) is float:
        return kind_of(number) is bool
    low, high = limits(to)
    return not (e.is_known(number, operator.lt, low) or e.is_known(number, operator.gt, high))


def zeros(value: Value) -> Value:
    """Zeros in the structure of `value`, as a placeholder that nothing reads."""
    if is_open(value):
        return kind_of(value)(0)
    if isinstance(value, Var | Const):
        return const(0, value.type)
    return rebuilt(value, map(zeros, scalars(value)))


def emit(e: Emitter, cond: Atom, sides: tuple[Side, Side], results: list[Var]) -> None:
    """The `If`, or a `select` for each result when both branches are empty."""
    a, b = sides
    if a.statements or b.statements:
        then, orelse = (Block(tuple(s.statements), tuple(s.yields)) for s in sides)
        e.builder.add(If(cond, then, orelse, tuple(results), e.builder.origin))
        return
    for var, x, y in zip(results, a.yields, b.yields, strict=True):
        e.builder.add(Let(var, *_selection(cond, x, y), e.builder.origin))


def _selection(cond: Atom, x: Atom, y: Atom) -> tuple[str, tuple[Atom, ...]]:
    if (x, y) == (FALSE, TRUE):
        return "bnot", (cond,)
    if y == FALSE:
        return "band", (cond, x)
    if x == TRUE:
        return "bor", (cond, y)
    return "select", (cond, x, y)


def choose(
    f: Frame, cond: Atom | bool, then: Callable[[], Value], orelse: Callable[[], Value], hint: str
) -> Value:
    """The value of a conditional expression, which computes only the chosen operand.

    Where computing both is harmless and cheap, both are, and one is selected.
    """
    known = cond.value if isinstance(cond, Const) else cond
    if isinstance(known, bool):
        return then() if known else orelse()
    assert not isinstance(cond, bool)
    values: list[Value] = []
    before = dict(f.scope.values)
    sides = tuple(_side(f, before, lambda run=run: values.append(run())) for run in (then, orelse))
    assert len(sides) == 2
    f.scope.values = before
    if not fits(values[0], values[1]):
        values = list(_broadcast(values))
    if not fits(values[0], values[1]):
        help = advice.different(values[0], values[1])
        message = f"one choice is {describe(values[0])}, the other {describe(values[1])}"
        f.emit.refuse("type" if help else "shape", message, help=help)
    results = _merge(f, sides, before, frozenset(before), _ONE_OPERAND)
    value = join(f.emit, hint, values[0], values[1], sides, results)
    flatten_pure(f.emit, sides)
    emit(f.emit, cond, sides, results)
    return value


def _broadcast(values: list[Value]) -> tuple[Value, Value]:
    """A scalar beside a vector becomes a vector."""
    a, b = values
    if isinstance(a, Mat) and is_scalar(b):
        return a, filled(a.shape, b)
    if isinstance(b, Mat) and is_scalar(a):
        return filled(b.shape, a), b
    return a, b


_CHEAP = 12  # up to this many primitives, computing both sides is cheaper than a branch


def flatten_pure(e: Emitter, sides: tuple[Side, Side]) -> None:
    """Moves the statements of both sides out when they only compute, and are few."""
    if all(pure(s.statements) for s in sides):
        for side in sides:
            for statement in side.statements:
                e.builder.add(statement)
            side.statements = []


def pure(statements: list[Statement]) -> bool:
    """Whether `statements` may be executed speculatively."""
    return len(statements) <= _CHEAP and all(isinstance(s, Let) for s in statements)
