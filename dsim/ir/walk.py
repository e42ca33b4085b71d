"""Going through kernels: what a statement reads and binds, all statements, copies with other names.

Every node type is spelled out once here; passes use these and name only the nodes they care about.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from dsim.ir.build import Names
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
    Kernel,
    Let,
    Load,
    Logging,
    LogMark,
    Memory,
    Origin,
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
    """The atoms that `s` itself reads; not those that blocks inside it read."""
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
    """The variables that statements after `s` may read."""
    match s:
        case Let(var=var) | Load(var=var) | LogMark(var=var):
            return (var,)
        case Accumulate(old=old):
            return () if old is None else (old,)
        case If(results=results) | For(results=results) | While(results=results):
            return results
        case Derive(results=results) | Call(results=results):
            return results
        case _:
            return ()


def parameters(s: Statement) -> tuple[Var, ...]:
    """The variables that `s` binds for the blocks inside it."""
    match s:
        case For(index=index, carried=carried):
            return (index, *carried)
        case While(carried=carried):
            return carried
        case Derive(params=params):
            return params
        case Call(params=params):
            return (*params, *(p for rule in s.rules for p in rule.params))
        case _:
            return ()


def blocks(s: Statement) -> tuple[Block, ...]:
    """The blocks directly inside `s`, in the order in which they run."""
    match s:
        case If(then=then, orelse=orelse):
            return (then, orelse)
        case For(body=body) | Derive(body=body):
            return (body,)
        case While(condition=condition, body=body):
            return (condition, body)
        case Call(body=body):
            return (body, *(rule.body for rule in s.rules))
        case _:
            return ()


def memory_of(s: Statement) -> Memory | None:
    """The memory whose elements `s` itself touches, or will touch when it is lowered, or that it makes."""
    match s:
        case Load(memory=m) | Store(memory=m) | Accumulate(memory=m):
            return m
        case Append(memory=m) | RollBack(memory=m) | Compact(memory=m):
            return m
        case Probe(memory=m):
            return m
        case Alloc(memory=m) | UndoLog(log=m):
            return m
        case _:
            return None


def written(s: Statement) -> Memory | None:
    """The memory whose elements `s` itself changes."""
    match s:
        case Store(memory=m) | Accumulate(memory=m) | RollBack(memory=m):
            return m
        case _:
            return None


def statements(block: Block) -> Iterator[Statement]:
    """All statements of `block`, those of inner blocks behind the statement that holds them."""
    for s in block.statements:
        yield s
        for inner in blocks(s):
            yield from statements(inner)


def accesses(block: Block) -> Iterator[Load | Store | Accumulate]:
    """The statements of `block`, inner blocks included, that touch a memory."""
    for s in statements(block):
        if isinstance(s, Load | Store | Accumulate):
            yield s


def fields_of(block: Block) -> tuple[Memory, ...]:
    """The memories that `block` touches and that are not private, in order of first use."""
    touched = map(memory_of, statements(block))
    return tuple(dict.fromkeys(m for m in touched if m is not None and not m.private))


def bound_names(kernel: Kernel) -> Iterator[str]:
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
    """The variables that `block` reads and does not bind, in order of first use."""
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
            return s


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
    """What `a` stands for under `env`: itself when `env` does not name it."""
    return env.get(a, a) if isinstance(a, Var) else a


def with_operands(s: Statement, f: Callable[[Atom], Atom]) -> Statement:  # noqa: C901, PLR0911, PLR0912 (one case a node)
    """`s` with each atom of `operands(s)` replaced by ``f(atom)``; inner blocks stay."""

    def many(atoms: tuple[Atom, ...]) -> tuple[Atom, ...]:
        return tuple(map(f, atoms))

    def parts(ps: tuple[str | Atom, ...]) -> tuple[str | Atom, ...]:
        return tuple(p if isinstance(p, str) else f(p) for p in ps)

    match s:
        case Let():
            return replace(s, args=many(s.args))
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
    """`block` with the variables that `env` names replaced; what the block binds keeps its names."""

    def change(inner: Block) -> Block:
        return substitute(inner, env)

    done = tuple(with_blocks(with_operands(s, lambda a: swap(a, env)), change) for s in block.statements)
    return Block(done, tuple(swap(y, env) for y in block.yields))


class Copier:
    """Copies statements with fresh names for everything that they bind.

    Parameters
    ----------
    names : Names
        Where the new names come from.
    transform : str, optional
        Appended to the copies' origins.
    """

    def __init__(self, names: Names, transform: str = "") -> None:
        self.names = names
        self.transform = transform
        self.memories: dict[Memory, Memory] = {}

    def origin(self, o: Origin) -> Origin:
        """`o`, with the copier's transform as its last."""
        if not self.transform or o.transforms[-1:] == (self.transform,):
            return o
        return replace(o, transforms=(*o.transforms, self.transform))

    def variable(self, v: Var, env: dict[Var, Atom]) -> Var:
        """A fresh variable for `v`, noted in `env`."""
        new = Var(self.names.fresh(v.name), v.type)
        env[v] = new
        return new

    def memory(self, m: Memory) -> Memory:
        """The copy's memory for `m`: a private one that was copied has its own."""
        return self.memories.get(m, m)

    def block(self, block: Block, env: Mapping[Var, Atom]) -> Block:
        """A copy of `block`; names that it does not bind are taken from `env` where that has them."""
        here = dict(env)
        copied = tuple(self.statement(s, here) for s in block.statements)
        return Block(copied, tuple(swap(y, here) for y in block.yields))

    def statement(self, s: Statement, env: dict[Var, Atom]) -> Statement:
        """A copy of `s`; what it binds is added to `env`."""
        s = with_operands(s, lambda a: swap(a, env))
        s = replace(s, origin=self.origin(s.origin))
        if isinstance(s, Alloc):
            self.memories[s.memory] = replace(s.memory, name=self.names.fresh(s.memory.name))
        if isinstance(s, UndoLog):
            self.memories[s.log] = replace(s.log, name=self.names.fresh(s.log.name))
        if isinstance(s, Load | Store | Accumulate | Alloc | UndoLog | Append | RollBack | Compact):
            s = replace(s, memory=self.memory(s.memory))
        if isinstance(s, Logging):
            s = replace(s, log=self.memory(s.log))
        if isinstance(s, Alloc) and s.saves is not None and s.saves.of is not None:
            s = replace(s, saves=replace(s.saves, of=self.memory(s.saves.of)))
        if isinstance(s, UndoLog) and s.beside is not None:
            s = replace(s, beside=self.memory(s.beside))
        s = self._inside(s, env)
        return self._bound(s, env)

    def _inside(self, s: Statement, env: dict[Var, Atom]) -> Statement:
        match s:
            case For():
                inner = dict(env)
                index, carried = self.variable(s.index, inner), self._variables(s.carried, inner)
                goes_on = None if s.goes_on is None else inner[s.goes_on]
                assert goes_on is None or isinstance(goes_on, Var)
                body = self.block(s.body, inner)
                return replace(s, index=index, carried=carried, goes_on=goes_on, body=body)
            case While():
                inner = dict(env)
                carried = self._variables(s.carried, inner)
                return replace(
                    s,
                    carried=carried,
                    condition=self.block(s.condition, inner),
                    body=self.block(s.body, inner),
                )
            case Derive():
                inner = dict(env)
                params = self._variables(s.params, inner)
                return replace(s, params=params, body=self.block(s.body, inner))
            case Call():
                inner = dict(env)
                params = self._variables(s.params, inner)
                body = self.block(s.body, inner)
                return with_rules(replace(s, params=params, body=body), lambda r: self._rule(r, env))
            case _:
                return with_blocks(s, lambda b: self.block(b, env))

    def _rule(self, rule: Rule, env: dict[Var, Atom]) -> Rule:
        inner = dict(env)
        params = self._variables(rule.params, inner)
        return replace(rule, params=params, body=self.block(rule.body, inner))

    def _variables(self, vs: tuple[Var, ...], env: dict[Var, Atom]) -> tuple[Var, ...]:
        return tuple(self.variable(v, env) for v in vs)

    def _bound(self, s: Statement, env: dict[Var, Atom]) -> Statement:
        match s:
            case Let() | Load() | LogMark():
                return replace(s, var=self.variable(s.var, env))
            case Accumulate(old=Var() as old):
                return replace(s, old=self.variable(old, env))
            case If() | For() | While() | Derive() | Call():
                return replace(s, results=self._variables(s.results, env))
            case _:
                return s
