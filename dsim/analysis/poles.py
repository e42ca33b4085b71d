"""Which values may be infinite or NaN (come from a pole) and may be unused in that case.

``select(y > 0, x / y * w, 0)`` computes both sides. At y = 0 the adjoint of the first one is 0, and so
must be the adjoints that it propagates; but 0 times an infinite partial is NaN. The same holds for a value
from before a branch or loop that is used only inside, and in an adjoint for a partial that a strong product
multiplies by an adjoint of such a value. Reverse mode therefore uses strong products
(`mul_strong`) between a pole and such a use, and only there, since each costs a comparison. The analysis does
not follow values through fields, and ignores products and sums that overflow.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator
from typing import assert_never

from dsim.ir.nodes import (
    Accumulate,
    Alloc,
    Append,
    Assert,
    Atom,
    Block,
    Call,
    Compact,
    Derive,
    For,
    If,
    Let,
    Load,
    LogMark,
    Memory,
    Print,
    Probe,
    RollBack,
    Statement,
    Store,
    UndoLog,
    Var,
    While,
)
from dsim.ir.primitives import TABLE
from dsim.ir.walk import blocks, free, parameters, statements

Place = Var | Memory
Flow = tuple[Place, Place, bool]  # from, to, and whether an infinity propagates


def unchosen(block: Block) -> frozenset[Var]:
    """The variables of `block` that a pole may make infinite or NaN and that may be unused."""
    body = tuple(statements(block))
    chosen: set[Place] = {v for s in body for v in _chosen(s)}
    perhaps = {v for s in body for v in _used_perhaps(s) if v.type.is_float}
    if not perhaps and not chosen:
        return frozenset()
    flows = [f for s in body for f in _flows(s) if f[0].type.is_float and f[1].type.is_float]
    chosen = _reached(chosen, [(a, b) for a, b, _ in flows])
    perhaps.update(v for s in body for v in _partials(s, chosen))
    poles = [s.var for s in body if isinstance(s, Let) and TABLE[s.op].has_pole(s.args)]
    poles += [r for s in body if isinstance(s, Call) for r in s.results]
    wild = _reached(poles, [(a, b) for a, b, stays in flows if stays])
    screened = _reached(perhaps, [(b, a) for a, b, _ in flows])
    return frozenset(v for v in wild & screened if isinstance(v, Var))


def _used_perhaps(s: Statement) -> Iterator[Var]:
    """The variables from before `s` that it uses on some of its paths only."""
    match s:
        case Let(op="select", args=(_, *sides)):
            yield from (a for a in sides if isinstance(a, Var))
        case If() | For() | While():
            own = parameters(s)
            yield from (v for inner in blocks(s) for v in free(inner) if v not in own)
        case Let() | Load() | Store() | Accumulate() | Alloc() | Probe() | Print() | Assert() | UndoLog():
            pass
        case Append() | LogMark() | RollBack() | Compact() | Derive() | Call():
            pass
        case _:
            assert_never(s)


def _chosen(s: Statement) -> tuple[Var, ...]:
    """The floats that are one number or another, 0 perhaps, as a selection or a branch says."""
    found = (s.var,) if isinstance(s, Let) and s.op == "select" else s.results if isinstance(s, If) else ()
    return tuple(v for v in found if v.type.is_float)


def _partials(s: Statement, chosen: Container[Atom | Memory]) -> Iterator[Var]:
    """In an adjoint, what a strong product multiplies by an adjoint that is 0 where a value is not chosen."""
    if isinstance(s, Let) and s.op in ("mul_strong", "div_strong", "mul_div_strong"):
        given = s.args[0 if s.op == "div_strong" else 1]
        if given in chosen:
            yield from (a for a in s.args if a is not given and isinstance(a, Var))


def _flows(s: Statement) -> Iterator[Flow]:  # noqa: C901 (one case a node)
    """The data-flow edges between variables and memories in `s` itself."""
    match s:
        case Let(var=var, op=op, args=args):
            yield from ((a, var, op != "select") for a in args if isinstance(a, Var))
        case Load(var=var, memory=memory) if memory.private:
            yield memory, var, True
        case Store(memory=memory, value=value) | Accumulate(memory=memory, value=value) if memory.private:
            yield from _pairs((memory,), (value,))
            if isinstance(s, Accumulate) and s.old is not None:
                yield memory, s.old, True
        case If():
            yield from _pairs(s.results, s.then.yields)
            yield from _pairs(s.results, s.orelse.yields)
        case For() | While():
            for to in (s.carried, s.results):
                yield from _pairs(to, s.init)
                yield from _pairs(to, s.body.yields)
        case Call():
            for r in s.results:
                yield from _pairs((r,) * len(s.args), s.args)
        case Load() | Store() | Accumulate() | Alloc() | Probe() | Print() | Assert() | UndoLog() | Append():
            pass
        case LogMark() | RollBack() | Compact() | Derive():
            pass
        case _:
            assert_never(s)


def _pairs(to: tuple[Place, ...], sources: tuple[Atom, ...]) -> Iterator[Flow]:
    return ((a, b, True) for a, b in zip(sources, to, strict=True) if isinstance(a, Var))


def _reached(start: Iterable[Place], edges: Iterable[tuple[Place, Place]]) -> set[Place]:
    onward: dict[Place, list[Place]] = {}
    for a, b in edges:
        onward.setdefault(a, []).append(b)
    found: set[Place] = set()
    waiting = list(start)
    while waiting:
        place = waiting.pop()
        if place not in found:
            found.add(place)
            waiting += onward.get(place, ())
    return found
