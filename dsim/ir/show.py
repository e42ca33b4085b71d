"""The printed form of kernels: equal kernels have equal text.

Golden tests compare it and people read it, so every name is printed with its type where it is bound and
nowhere else; constants have a type suffix unless they are of the usual types (``2.0``, ``3``, ``3i64``).
Origins and sites are not shown; `lines` gives the origin of each line.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple, assert_never

from dsim.ir.nodes import (
    Accumulate,
    Alloc,
    Append,
    Assert,
    Atom,
    Block,
    Call,
    Compact,
    Const,
    Derive,
    For,
    If,
    KernelIR,
    Let,
    Load,
    Logging,
    LogMark,
    Memory,
    Origin,
    Print,
    Probe,
    Residual,
    RollBack,
    Statement,
    Store,
    UndoLog,
    Var,
    While,
)
from dsim.ir.types import f32, i32, u1

_STEP = "  "
ACCUMULATE_SIGNS = {
    "add": "+=",
    "mul": "*=",
    "min": "min=",
    "max": "max=",
    "band": "&=",
    "bor": "|=",
    "bxor": "^=",
}


def show(node: KernelIR | Block | Statement) -> str:
    """`node` as text, without a newline at the end.

    Examples
    --------
    >>> from dsim.ir.nodes import Const, Let
    >>> print(show(Let(Var("y", f32), "mul", (Var("x", f32), Const(2.0, f32)))))
    y: f32 = mul x, 2.0
    """
    return "\n".join(line.text for line in lines(node))


class Line(NamedTuple):
    """One line of the text, and the origin of its statement, if it has one."""

    text: str
    origin: Origin | None = None


def lines(node: KernelIR | Block | Statement) -> list[Line]:
    """The lines of ``show(node)`` with their origins."""
    if isinstance(node, KernelIR):
        return list(_kernel(node))
    return list(_block(node, "yield") if isinstance(node, Block) else _statement(node))


def atom(a: Atom) -> str:
    """The printed atom: a variable's name, or a constant's value with its type suffix."""
    if isinstance(a, Var):
        return a.name
    return digits(a) if a.type in (f32, i32, u1) else f"{digits(a)}{a.type}"


def digits(c: Const) -> str:
    """The value of a constant, as short as its type allows: 0.1 in f32 is ``0.1``."""
    if c.type.is_float:
        return str(c.type.numpy.type(c.value))
    return str(c.value).lower() if c.type == u1 else str(c.value)


def memory(m: Memory) -> str:
    """The printed memory: its name and which companion it is: ``x``, ``x.bar``, ``x.bar.dot``."""
    return ".".join((m.name, *m.derivative))


def _kernel(k: KernelIR) -> Iterator[Line]:
    yield Line(f"kernel {k.name}({_bound(k.params)}):")
    for m in k.memories:
        yield Line(f"{_STEP}memory {_declared(m)}")
    yield from _indented(_block(k.body, "return"))


def _declared(m: Memory) -> str:
    shape = ", ".join("?" if n is None else str(n) for n in m.shape)
    entries = f" entries {m.entry_axes}" if m.entry_axes else ""
    return f"{memory(m)}: {m.type}[{shape}]{entries}"


def _block(b: Block, word: str) -> Iterator[Line]:
    for s in b.statements:
        yield from _statement(s)
    if b.yields:
        yield Line(f"{word} {_list(b.yields)}")
    elif not b.statements:
        yield Line("pass")


def _indented(inner: Iterable[Line]) -> Iterator[Line]:
    return (Line(_STEP + line.text, line.origin) for line in inner)


def _list(atoms: Iterable[Atom]) -> str:
    return ", ".join(map(atom, atoms))


def _bound(vs: Iterable[Var]) -> str:
    return ", ".join(f"{v.name}: {v.type}" for v in vs)


def _element(m: Memory, index: tuple[Atom, ...]) -> str:
    return f"{memory(m)}[{_list(index)}]"


def _message(s: Print | Assert) -> str:
    return _parts(s.parts) + (f" as {', '.join(map(repr, s.formats))}" if s.formats else "")


def _parts(parts: tuple[str | Atom, ...]) -> str:
    return ", ".join(repr(p) if isinstance(p, str) else atom(p) for p in parts)


def _statement(s: Statement) -> Iterator[Line]:
    match s:
        case If():
            yield Line(f"if {atom(s.cond)}{_results(s.results)}:", s.origin)
            yield from _indented(_block(s.then, "yield"))
            if s.orelse != Block(()):
                yield Line("else:", s.origin)
                yield from _indented(_block(s.orelse, "yield"))
        case For():
            yield Line(_for_head(s), s.origin)
            yield from _indented(_block(s.body, "yield"))
        case While():
            yield Line(f"while{_carrying(s.carried, s.init)}{_results(s.results)}:", s.origin)
            yield from _indented(_block(s.condition, "yield"))
            yield Line("do:", s.origin)
            yield from _indented(_block(s.body, "yield"))
        case Derive() | Call():
            yield from _function(s)
        case Let() | Load() | Store() | Accumulate() | Alloc() | Probe() | Print() | Assert() | UndoLog():
            yield Line(_single(s), s.origin)
        case Append() | LogMark() | RollBack() | Compact():
            yield Line(_single(s), s.origin)
        case _:
            assert_never(s)


def _single(s: Let | Load | Store | Accumulate | Alloc | Probe | Logging | Print | Assert) -> str:
    match s:
        case Let() | Load() | Store() | Accumulate() | Alloc() | Probe():
            return _plain(s)
        case UndoLog() | Append() | LogMark() | RollBack() | Compact():
            return _logging(s)
        case Print():
            return f"print {_message(s)}" + ("" if s.end == "\n" else f" end {s.end!r}")
        case Assert():
            return f"assert {atom(s.cond)}" + (f": {_message(s)}" if s.parts else "")


def _function(s: Derive | Call) -> Iterator[Line]:
    of = f"{_results(s.results)} of ({_bound(s.params)}):"
    if isinstance(s, Derive):
        yield Line(f"{s.mode} at ({_list(s.args)}) seeds ({_list(s.seeds)}){of}", s.origin)
    else:
        yield Line(f"call {s.name} at ({_list(s.args)}){of}", s.origin)
    yield from _indented(_block(s.body, "yield"))
    for word, rule in () if isinstance(s, Derive) else (("jvp", s.jvp), ("vjp", s.vjp)):
        if rule is not None:
            yield Line(f"{word} of ({_bound(rule.params)}):", s.origin)
            yield from _indented(_block(rule.body, "yield"))


def _plain(s: Let | Load | Store | Accumulate | Alloc | Probe) -> str:
    match s:
        case Let():
            return f"{_bound((s.var,))} = {s.op} {_list(s.args)}"
        case Load():
            return f"{_bound((s.var,))} = {_element(s.memory, s.index)}"
        case Store():
            return f"{_element(s.memory, s.index)} = {atom(s.value)}"
        case Accumulate():
            old = "" if s.old is None else f"{_bound((s.old,))} = "
            return f"{old}{_element(s.memory, s.index)} {ACCUMULATE_SIGNS[s.op]} {atom(s.value)}"
        case Alloc():
            return f"alloc {_declared(s.memory)} of ({_list(s.shape)}){_saved(s.saves)}"
        case Probe():
            at = f" at {_list(s.at)}" if s.at else ""
            tie = f" where {atom(s.tie)}" if s.tie is not None else ""
            over = f" over {atom(s.over)}" if s.over is not None else ""
            across = f" across {_list(s.across)}" if s.across else ""
            source = f" from {_list(s.source)}" if s.source else ""
            return f"probe {s.slot} {s.what} {atom(s.value)}{at}{tie}{over}{across}{source}"


def _saved(r: Residual | None) -> str:
    if r is None:
        return ""
    by = f" by {r.by}" if r.by else ""
    of = "" if r.of is None else f" of {memory(r.of)}"
    return f" saves {r.what}{of}{by}"


def _logging(s: Logging) -> str:
    match s:
        case UndoLog():
            beside = "" if s.beside is None else f" beside {memory(s.beside)}"
            return f"undo_log {_declared(s.log)} of {memory(s.memory)}{beside}"
        case Append():
            return f"append {_element(s.memory, s.index)} to {memory(s.log)}"
        case LogMark():
            return f"{_bound((s.var,))} = log_mark {memory(s.log)}"
        case RollBack():
            return f"roll_back {memory(s.memory)} by {memory(s.log)} to {atom(s.mark)}"
        case Compact():
            return f"compact {memory(s.log)} of {memory(s.memory)} behind {atom(s.mark)}"


def _for_head(s: For) -> str:
    word = "parallel for" if s.parallel else "for"
    by = "" if s.step == 1 else f" by {s.step}"
    goes_on = "" if s.goes_on is None else f" while {s.goes_on.name}"
    loop = f"{word} {_bound((s.index,))} in {atom(s.start)}..{atom(s.stop)}{by}"
    return f"{loop}{_carrying(s.carried, s.init)}{goes_on}{_results(s.results)}:"


def _carrying(carried: tuple[Var, ...], init: tuple[Atom, ...]) -> str:
    if not carried:
        return ""
    # not strict: kernels that `check` refuses are printed too
    pairs = ", ".join(f"{v.name}: {v.type} = {atom(a)}" for v, a in zip(carried, init, strict=False))
    return f" carrying ({pairs})"


def _results(results: tuple[Var, ...]) -> str:
    return f" -> ({_bound(results)})" if results else ""
