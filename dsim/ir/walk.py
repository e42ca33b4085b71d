"""Traversals of kernels: what a statement reads and binds, all statements, copies with some parts replaced.

Every function here handles every node type; passes use them and match only the nodes that they change.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
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
    KernelIR,
    Let,
    Load,
    LogMark,
    Memory,
    Print,
    Probe,
    RollBack,
    Rule,
    Statement,
    Store,
    UndoLog,
    Var,
    While,
)


def operands(s: Statement) -> tuple[Atom, ...]:  # noqa: C901, PLR0911, PLR0912 (one case a node)
    """The atoms that `s` itself reads, without those read in its inner blocks."""
    match s:
        case Let(args=args):
            return args
        case Load(index=index) | Append(index=index):
            return index
        case Store(index=index, value=value) | Accumulate(index=index, value=value):
            return (*index, value)
        case Alloc(shape=shape):
            return shape
        case RollBack(mark=mark) | Compact(mark=mark):
            return (mark,)
        case UndoLog() | LogMark():
            return ()
        case If(cond=cond):
            return (cond,)
        case For(start=start, stop=stop, init=init):
            return (start, stop, *init)
        case While(init=init):
            return init
        case Print(parts=parts):
            return tuple(p for p in parts if not isinstance(p, str))
        case Assert(cond=cond, parts=parts):
            return (cond, *(p for p in parts if not isinstance(p, str)))
        case Probe(value=value, at=at, tie=tie, across=across, over=over, source=source):
            return (value, *at, *(a for a in (tie, over) if a is not None), *across, *source)
        case Derive(args=args, seeds=seeds):
            return (*args, *seeds)
        case Call(args=args):
            return args


def binds(s: Statement) -> tuple[Var, ...]:
    """The variables that `s` binds for the statements after it."""
    match s:
        case Let(var=var) | Load(var=var) | LogMark(var=var):
            return (var,)
        case Accumulate(old=old):
            return () if old is None else (old,)
        case If(results=results) | For(results=results) | While(results=results):
            return results
        case Derive(results=results) | Call(results=results):
            return results
        case Store() | Alloc() | Probe() | Print() | Assert() | UndoLog() | Append() | RollBack() | Compact():
            return ()
        case _:
            assert_never(s)


def parameters(s: Statement) -> tuple[Var, ...]:
    """The variables that `s` binds for the blocks inside it."""
    match s:
        case Let() | Load() | Store() | Accumulate() | Alloc() | Probe() | Print() | Assert() | If():
            return ()
        case UndoLog() | Append() | LogMark() | RollBack() | Compact():
            return ()
        case For(index=index, carried=carried):
            return (index, *carried)
        case While(carried=carried):
            return carried
        case Derive(params=params):
            return params
        case Call(params=params):
            return (*params, *(p for rule in s.rules for p in rule.params))
        case _:
            assert_never(s)


def blocks(s: Statement) -> tuple[Block, ...]:
    """The blocks directly inside `s`, in the order in which they run."""
    match s:
        case Let() | Load() | Store() | Accumulate() | Alloc() | Probe() | Print() | Assert() | UndoLog():
            return ()
        case Append() | LogMark() | RollBack() | Compact():
            return ()
        case If(then=then, orelse=orelse):
            return (then, orelse)
        case For(body=body) | Derive(body=body):
            return (body,)
        case While(condition=condition, body=body):
            return (condition, body)
        case Call(body=body):
            return (body, *(rule.body for rule in s.rules))
        case _:
            assert_never(s)


def memory_of(s: Statement) -> Memory | None:
    """The memory that `s` itself makes or accesses, now or once it is lowered."""
    match s:
        case Let() | Print() | Assert() | If() | For() | While() | LogMark() | Derive() | Call():
            return None
        case Load(memory=m) | Store(memory=m) | Accumulate(memory=m):
            return m
        case Append(memory=m) | RollBack(memory=m) | Compact(memory=m):
            return m
        case Probe(memory=m):
            return m
        case Alloc(memory=m) | UndoLog(log=m):
            return m
        case _:
            assert_never(s)


def written(s: Statement) -> Memory | None:
    """The memory that `s` itself writes."""
    match s:
        case Let() | Load() | Alloc() | Probe() | Print() | Assert() | If() | For() | While() | UndoLog():
            return None
        case Append() | LogMark() | Compact() | Derive() | Call():
            return None
        case Store(memory=m) | Accumulate(memory=m) | RollBack(memory=m):
            return m
        case _:
            assert_never(s)


# Most statements of a kernel, known by one look: none has a block inside.
_FLAT = frozenset({Let, Load, Store, Accumulate})


def statements(block: Block) -> tuple[Statement, ...]:
    """All statements of `block` in preorder: a statement, then those of its inner blocks."""
    try:
        return block.preorder
    except AttributeError:
        found = tuple(_preorder(block))
        object.__setattr__(block, "preorder", found)  # a block never changes
        return found


def _preorder(block: Block) -> Iterator[Statement]:
    # With a stack of its own: nested generators would resume once per level for each statement.
    ahead = list(reversed(block.statements))
    while ahead:
        s = ahead.pop()
        yield s
        if type(s) not in _FLAT:
            for inner in reversed(blocks(s)):
                ahead.extend(reversed(inner.statements))


def accesses(block: Block) -> Iterator[Load | Store | Accumulate]:
    """The loads, stores and accumulations of `block`, inner blocks included."""
    for s in statements(block):
        if isinstance(s, Load | Store | Accumulate):
            yield s


def fields_of(block: Block) -> tuple[Memory, ...]:
    """The memories that `block` accesses and that are not private, in order of first use."""
    touched = map(memory_of, statements(block))
    return tuple(dict.fromkeys(m for m in touched if m is not None and not m.private))


def bound_names(kernel: KernelIR) -> Iterator[str]:
    """All names in use in `kernel`: variables and memories."""
    for p in kernel.params:
        yield p.name
    for m in kernel.memories:
        yield m.name
    for s in statements(kernel.body):
        for v in (*binds(s), *parameters(s)):
            yield v.name
        if isinstance(s, Alloc):
            yield s.memory.name
        if isinstance(s, UndoLog):
            yield s.log.name


def free(block: Block) -> dict[Var, None]:
    """The free variables of `block`, in order of first use."""
    found: dict[Var, None] = {}
    _free(block, set(), found)
    return found


def _free(block: Block, bound: set[Var], found: dict[Var, None]) -> None:
    here = set(bound)
    for s in block.statements:
        _note(operands(s), here, found)
        inside = here | set(parameters(s))
        for inner in blocks(s):
            _free(inner, inside, found)
        here.update(binds(s))
    _note(block.yields, here, found)


def _note(atoms: tuple[Atom, ...], bound: set[Var], found: dict[Var, None]) -> None:
    for a in atoms:
        if isinstance(a, Var) and a not in bound:
            found.setdefault(a)


def with_blocks(s: Statement, change: Callable[[Block], Block]) -> Statement:
    """`s` with each block directly inside it replaced by ``change(block)``."""
    match s:
        case Let() | Load() | Store() | Accumulate() | Alloc() | Probe() | Print() | Assert() | UndoLog():
            return s
        case Append() | LogMark() | RollBack() | Compact():
            return s
        case If():
            return replace(s, then=change(s.then), orelse=change(s.orelse))
        case For() | Derive():
            return replace(s, body=change(s.body))
        case While():
            return replace(s, condition=change(s.condition), body=change(s.body))
        case Call():
            body = change(s.body)
            return with_rules(replace(s, body=body), lambda r: replace(r, body=change(r.body)))
        case _:
            assert_never(s)


def silent(block: Block) -> Block:
    """`block` without its prints, asserts and probes."""
    told = (s for s in block.statements if not isinstance(s, Print | Assert | Probe))
    return Block(tuple(with_blocks(s, silent) for s in told), block.yields)


def with_rules(s: Call, change: Callable[[Rule], Rule]) -> Call:
    """`s` with each of its rules replaced by ``change(rule)``."""
    jvp, vjp = (None if r is None else change(r) for r in (s.jvp, s.vjp))
    return replace(s, jvp=jvp, vjp=vjp)


Substitution = Mapping[Var, Atom]


def swap(a: Atom, env: Substitution) -> Atom:
    """The substitute of `a` in `env`; `a` itself if it has none."""
    return env.get(a, a) if isinstance(a, Var) else a


def with_operands(s: Statement, f: Callable[[Atom], Atom]) -> Statement:  # noqa: C901, PLR0911, PLR0912 (one case a node)
    """`s` with each atom of `operands(s)` replaced by ``f(atom)``; inner blocks do not change."""
    if isinstance(s, Let):  # most statements; made directly, in a quarter of the time of `replace`
        return Let(s.var, s.op, tuple(map(f, s.args)), s.origin)

    def many(atoms: tuple[Atom, ...]) -> tuple[Atom, ...]:
        return tuple(map(f, atoms))

    def parts(ps: tuple[str | Atom, ...]) -> tuple[str | Atom, ...]:
        return tuple(p if isinstance(p, str) else f(p) for p in ps)

    match s:
        case Load() | Append():
            return replace(s, index=many(s.index))
        case Store() | Accumulate():
            return replace(s, index=many(s.index), value=f(s.value))
        case Alloc():
            return replace(s, shape=many(s.shape))
        case RollBack() | Compact():
            return replace(s, mark=f(s.mark))
        case UndoLog() | LogMark():
            return s
        case If():
            return replace(s, cond=f(s.cond))
        case For():
            return replace(s, start=f(s.start), stop=f(s.stop), init=many(s.init))
        case While():
            return replace(s, init=many(s.init))
        case Print():
            return replace(s, parts=parts(s.parts))
        case Assert():
            return replace(s, cond=f(s.cond), parts=parts(s.parts))
        case Probe():
            tie, over = (None if a is None else f(a) for a in (s.tie, s.over))
            made = replace(s, value=f(s.value), at=many(s.at), tie=tie, across=many(s.across), over=over)
            return replace(made, source=many(s.source))
        case Derive():
            return replace(s, args=many(s.args), seeds=many(s.seeds))
        case Call():
            return replace(s, args=many(s.args))


def substitute(block: Block, env: Substitution) -> Block:
    """`block` with its free variables replaced as `env` says; bound variables keep their names."""

    def change(inner: Block) -> Block:
        return substitute(inner, env)

    done = tuple(with_blocks(with_operands(s, lambda a: swap(a, env)), change) for s in block.statements)
    return Block(done, tuple(swap(y, env) for y in block.yields))
