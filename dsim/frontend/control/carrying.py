"""What a loop carries from trip to trip: the locals that its body changes, and the flow of control."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from dsim.frontend.expressions.branches import zeros
from dsim.frontend.expressions.local_values import fixed, holds_open
from dsim.frontend.frames.frame import Frame
from dsim.frontend.frames.scope import DRAWS, LIVE, RESULT, RETURNED, hidden, readable
from dsim.frontend.source.problems import RefusedError
from dsim.frontend.values import advice
from dsim.frontend.values.structure import fits, labels, rebuilt, same, scalars
from dsim.frontend.values.values import Poison, Value, describe
from dsim.ir.build import FALSE, TRUE
from dsim.ir.nodes import Atom, Block, Const, Statement, Var


@dataclass
class Carry:
    """The carried values of one loop, while it is lowered.

    Attributes
    ----------
    start : dict
        The values of the names at the start of the body.
    end : dict
        Their values at its end.
    vars, init, yields : list
        As in `For`.
    """

    start: dict[str, Value]
    names: list[str]
    go: str
    statements: list[Statement] = field(default_factory=list)
    end: dict[str, Value] = field(default_factory=dict)
    vars: list[Var] = field(default_factory=list)
    init: list[Atom] = field(default_factory=list)
    yields: list[Atom] = field(default_factory=list)
    of: list[tuple[str, Value]] = field(default_factory=list)  # name, its value, in the order of `vars`
    goes_on: Var | None = None

    def block(self) -> Block:
        """The loop's body."""
        return Block(tuple(self.statements), tuple(self.yields))


def body(f: Frame, names: list[str], go: str, draws: Atom | None, run: Callable[[], None]) -> Carry:
    """Lowers a loop's body by `run`; `names` are the locals that it is known to change.

    `draws` is the number of random draws at the start of each trip; None means that it is carried.
    """
    before = dict(f.scope.values)
    names = [n for n in names if n in before and not isinstance(before[n], Poison)]
    printed = len(f.c.printed)
    while True:
        del f.c.printed[printed:]
        f.scope.values = dict(before)
        c = _begin(f, names, go, draws)
        try:
            with f.emit.block(c.statements):
                run()
                c.end = f.scope.values
                missed = [n for n, v in before.items() if _changed(n, v, c, names)]
                if not missed:
                    _finish(f, c, before[DRAWS] if draws is None else None)
        finally:
            f.scope.values = before
        if not missed:
            return c
        names = [*names, *missed]


def _changed(name: str, value: Value, c: Carry, names: list[str]) -> bool:
    return not hidden(name) and name not in names and not same(c.end.get(name, value), value)


def _begin(f: Frame, names: list[str], go: str, draws: Atom | None) -> Carry:
    values = f.scope.values
    c = Carry(values, names, go)
    for name in names:
        value = values[name]
        if holds_open(value):
            value = fixed(f, name, value, f.text.node)
        _carry(f, c, name, value)
    values.pop(RESULT, None)
    values.update({LIVE: TRUE, RETURNED: FALSE, go: TRUE})
    values[DRAWS] = f.emit.builder.fresh("draws", values[DRAWS].type) if draws is None else draws
    c.start = dict(values)
    return c


def _carry(f: Frame, c: Carry, name: str, value: Value) -> None:
    """Carries `value` under `name`: in the body, fresh variables represent it."""
    e = f.emit
    given = [e.atom(s) for s in scalars(value)]
    fresh = [
        e.builder.fresh(label, a.type) for label, a in zip(labels(readable(name), value), given, strict=True)
    ]
    c.vars += fresh
    c.init += given
    f.scope.values[name] = rebuilt(value, iter(fresh))
    c.of.append((name, f.scope.values[name]))


def _finish(f: Frame, c: Carry, drawn: Value | None) -> None:
    """The value of each carried variable in the next trip, control flags included.

    `drawn` is the number of draws before the loop, if it is carried.
    """
    for name, value in c.of:
        new = c.end[name]
        if isinstance(new, Poison):
            raise RefusedError
        if not fits(new, value):
            message = f"`{name}` is {describe(value)} before the loop and {describe(new)} in it"
            f.emit.refuse("type", message, help=advice.different(value, new))
        c.yields += [
            f.emit.atom(s, f.emit.type_of(o)) for s, o in zip(scalars(new), scalars(value), strict=True)
        ]
    first = c.start[DRAWS]
    if isinstance(drawn, Var | Const) and isinstance(first, Var) and not same(c.end[DRAWS], first):
        _flow(c, DRAWS, first, drawn, c.end[DRAWS])
    if not same(c.end[c.go], TRUE):
        c.goes_on = f.emit.builder.fresh("goes_on", TRUE.type)
        _flow(c, c.go, c.goes_on, TRUE, c.end[c.go])
    if not same(c.end[RETURNED], FALSE):
        _flow(c, RETURNED, f.emit.builder.fresh("returned", TRUE.type), FALSE, c.end[RETURNED])
        _result(f, c)


def _flow(c: Carry, name: str, var: Var, init: Atom, new: Atom) -> None:
    c.vars.append(var)
    c.init.append(init)
    c.yields.append(new)
    c.of.append((name, var))


def _result(f: Frame, c: Carry) -> None:
    """The function's result, when the loop may return."""
    value = c.end.get(RESULT)
    if isinstance(value, Poison):
        raise RefusedError
    atoms = [f.emit.atom(s) for s in scalars(value)]
    held = rebuilt(value, iter(atoms))
    names = labels("result", held)
    fresh = [f.emit.builder.fresh(label, a.type) for label, a in zip(names, atoms, strict=True)]
    c.vars += fresh
    c.init += [f.emit.atom(s) for s in scalars(zeros(held))]
    c.yields += atoms
    c.of.append((RESULT, rebuilt(held, iter(fresh))))


def results(f: Frame, c: Carry) -> tuple[Var, ...]:
    """Binds the names to fresh variables, the carried values after the loop."""
    out: list[Var] = []
    for name, value in c.of:
        hints = labels(readable(name), value)
        fresh = [f.emit.builder.fresh(h, s.type) for h, s in zip(hints, scalars(value), strict=True)]  # type: ignore[union-attr]
        out += fresh
        f.scope.values[name] = rebuilt(value, iter(fresh))
    return tuple(out)


def after(f: Frame, c: Carry) -> None:
    """After the loop, control continues unless the loop returned."""
    for name in c.end:
        if name not in f.scope.values and not hidden(name):
            f.scope.gone[name] = "is assigned inside a loop only and is not defined here"
    f.scope.gone = {n: why for n, why in f.scope.gone.items() if n not in f.scope.values}
    alive(f)
    if not same(f.scope.values[RETURNED], FALSE):
        for go in f.loops:
            if go != c.go:
                f.scope.values[go] = f.scope.values[LIVE]


def alive(f: Frame) -> None:
    """Control continues here unless the function has returned."""
    returned = f.scope.values[RETURNED]
    f.scope.values[LIVE] = f.emit.let("bnot", returned, hint="live")


def revived(f: Frame, run: Callable[[], None]) -> None:
    """Runs `run` where control is known to arrive: no loop was left, and the function has not returned."""
    f.scope.values.pop(RESULT, None)
    f.scope.values.update({LIVE: TRUE, RETURNED: FALSE, **dict.fromkeys(f.loops, TRUE)})
    run()
