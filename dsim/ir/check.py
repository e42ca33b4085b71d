"""Verifies the rules at the head of `nodes.py`; tests check the output of every transform.

One walk, linear in the kernel's size. It finds defects of dsim only; mistakes in a person's program are
reported by the frontend, with their source locations.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager

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
    MemoryKey,
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
from dsim.ir.show import atom, memory, show
from dsim.ir.types import ScalarType, i32, i64, u1
from dsim.ir.walk import binds, operands


class InvalidKernel(Exception):  # noqa: N818 (names the fault)
    """A kernel that breaks a rule of the kernel language: the transform that made it has a defect."""


def check(kernel: KernelIR) -> None:
    """Returns if `kernel` obeys every rule.

    Raises
    ------
    InvalidKernel
        If it breaks one; the message has the rule and the printed statement.
    """
    _Checker().kernel(kernel)


class _Checker:
    def __init__(self) -> None:
        self.bound: set[str] = set()  # every name bound so far, in scope or not
        self.seen: dict[str, Var] = {}
        self.made: set[MemoryKey] = set()  # every memory made so far
        self.memories: dict[MemoryKey, Memory] = {}  # the memories in scope here
        self.logs: dict[MemoryKey, MemoryKey] = {}  # the memory that each undo log belongs to
        self.fixed: list[set[MemoryKey]] = []  # per enclosing Derive or Call, the memories made outside it
        self.opened: list[tuple[list[str], list[MemoryKey]]] = []  # per open scope, what it bound
        self.at: Statement | None = None

    def demand(self, holds: bool, why: str) -> None:
        if not holds:
            raise InvalidKernel(why if self.at is None else f"{why}, in\n{show(self.at)}")

    # names and scopes

    def kernel(self, k: KernelIR) -> None:
        known = isinstance(k.exact, bool)  # pyright: ignore[reportUnnecessaryIsInstance]
        self.demand(known, "exact is not a bool")
        with self.scope():
            for m in k.memories:
                self.demand(not m.private, f"private memory {memory(m)} among the kernel's")
                self.demand(None not in m.shape, f"memory {memory(m)} of unknown shape")
                self.memory(m)
            self.bind(k.params)
            self.block(k.body)
        names = {m.name for m in k.memories} & self.bound
        self.demand(not names, f"{sorted(names)} name a variable and a memory")

    @contextmanager
    def scope(self) -> Generator[None, None, None]:
        """Names bound inside go out of scope at the end."""
        self.opened.append(([], []))
        yield
        names, memories = self.opened.pop()
        for name in names:
            del self.seen[name]
        for key in memories:
            del self.memories[key]

    def bind(self, vs: Iterable[Var]) -> None:
        for v in vs:
            self.demand(v.name not in self.bound, f"{v.name} is bound twice")
            self.bound.add(v.name)
            self.seen[v.name] = v
            self.opened[-1][0].append(v.name)

    def memory(self, m: Memory) -> None:
        self.demand(m.key not in self.made, f"memory {memory(m)} is made twice")
        self.demand(0 <= m.entry_axes <= len(m.shape), f"memory {memory(m)} has more entry axes than axes")
        self.made.add(m.key)
        self.memories[m.key] = m
        self.opened[-1][1].append(m.key)

    def block(self, b: Block, *params: Var) -> None:
        holder = self.at
        with self.scope():
            self.bind(params)
            for s in b.statements:
                self.at = s
                self.atoms(operands(s))
                _RULES[type(s)](self, s)
                self.at = s
                self.bind(binds(s))
            self.at = holder
            self.atoms(b.yields)

    # values

    def atoms(self, atoms: Iterable[Atom]) -> None:
        for a in atoms:
            if isinstance(a, Var):
                self.demand(a.name in self.seen, f"{a.name} is not bound here")
                self.demand(self.seen[a.name] == a, f"{a.name} is a {self.seen[a.name].type}, not a {a.type}")
            else:
                self.demand(_fits(a), f"{a.value!r} is not a {a.type}")

    def types(self, what: str, got: Iterable[Atom], wanted: Iterable[ScalarType]) -> None:
        a, b = [x.type for x in got], list(wanted)
        self.demand(a == b, f"{what}: ({', '.join(map(str, a))}) where ({', '.join(map(str, b))}) is due")

    def integers(self, what: str, atoms: Iterable[Atom]) -> None:
        for a in atoms:
            self.demand(a.type.is_integer, f"{what} {atom(a)} is a {a.type}")

    # statements; `block` has checked that their operands are in scope

    def let(self, s: Let) -> None:
        row = TABLE.get(s.op)
        if row is None:
            self.demand(False, f"no primitive {s.op}")
            return
        try:
            result = row.result_type(tuple(a.type for a in s.args), s.var.type)
        except TypeError as e:
            raise InvalidKernel(f"{e}, in\n{show(s)}") from e
        self.types("result", (s.var,), (result,))
        for parameter, a in zip(row.parameters, s.args, strict=True):
            if parameter == "n":
                self.demand(isinstance(a, Const) and a.value >= 0, f"{s.op} of an order {atom(a)}")
        if s.op == "bit_cast":
            self.demand(s.args[0].type.bits == s.var.type.bits, "bit_cast between different widths")

    def access(self, s: Load | Store | Accumulate) -> None:
        self.element(s)
        if isinstance(s, Load):
            self.types("loaded value", (s.var,), (s.memory.type,))
            return
        self.types("written value", (s.value,), (s.memory.type,))
        self.demand(all(s.memory.key not in outer for outer in self.fixed), "a derived function writes")

    def element(self, s: Load | Store | Accumulate | Append) -> None:
        self.exists(s.memory)
        self.demand(s.memory.key not in self.logs, "an undo log has no elements")
        self.demand(
            len(s.index) == len(s.memory.shape), f"{len(s.index)} indices for {len(s.memory.shape)} axes"
        )
        self.integers("index", s.index)

    def exists(self, m: Memory) -> None:
        known = self.memories.get(m.key)
        self.demand(known is not None, f"memory {memory(m)} does not exist here")
        self.demand(known == m, f"memory {memory(m)} is declared otherwise")

    def accumulate(self, s: Accumulate) -> None:
        self.access(s)
        t = s.memory.type
        fits = (t.is_integer or t == u1) if s.op in ("band", "bor", "bxor") else t != u1
        self.demand(fits, f"{s.op} of a {t}")
        if s.old is not None:
            self.types("old value", (s.old,), (t,))

    def alloc(self, s: Alloc) -> None:
        self.demand(s.memory.private, "alloc of a memory that is not private")
        self.demand(len(s.shape) == len(s.memory.shape), "alloc of another number of axes")
        for known, length in zip(s.memory.shape, s.shape, strict=True):
            self.demand(length.type in (i32, i64), f"length {atom(length)} is a {length.type}")
            constant = length.value if isinstance(length, Const) else None
            self.demand(known is None or known == constant, f"length {atom(length)} of an axis of {known}")
        self.memory(s.memory)

    def log(self, s: UndoLog) -> None:
        self.exists(s.memory)
        self.demand(s.log.private, "an undo log that is not private")
        if s.beside is not None:
            self.exists(s.beside)
            self.demand(s.beside.key in self.logs, f"{memory(s.beside)} is no undo log")
        self.demand(s.log.shape == (None,), "an undo log of a known shape")
        self.demand(s.log.type == s.memory.type, f"an undo log of {s.log.type} for {s.memory.type}")
        self.memory(s.log)
        self.logs[s.log.key] = s.memory.key

    def logging(self, s: Logging) -> None:
        self.exists(s.log)
        of = self.logs.get(s.log.key)
        self.demand(of is not None, f"{memory(s.log)} is no undo log")
        if isinstance(s, LogMark):
            self.types("mark", (s.var,), (i64,))
            return
        self.demand(of == s.memory.key, f"{memory(s.log)} is not an undo log of {memory(s.memory)}")
        if isinstance(s, Append):
            self.element(s)
        if isinstance(s, RollBack | Compact):
            self.exists(s.memory)
            self.types("mark", (s.mark,), (i64,))

    def branch(self, s: If) -> None:
        self.types("condition", (s.cond,), (u1,))
        for b in (s.then, s.orelse):
            self.block(b)
            self.types("yields", b.yields, (v.type for v in s.results))

    def carries(self, s: For | While) -> None:
        types = [v.type for v in s.carried]
        self.types("initial values", s.init, types)
        self.types("results", s.results, types)
        self.types("yields", s.body.yields, types)

    def for_(self, s: For) -> None:
        self.integers("loop index", (s.index,))
        self.types("range", (s.start, s.stop), (s.index.type, s.index.type))
        whole = isinstance(s.step, int)  # pyright: ignore[reportUnnecessaryIsInstance]
        self.demand(whole and s.step != 0, "a step of 0")
        self.carries(s)
        if s.goes_on is not None:
            self.demand(s.goes_on in s.carried and s.goes_on.type == u1, "goes_on is not a carried bool")
        self.block(s.body, s.index, *s.carried)

    def while_(self, s: While) -> None:
        self.carries(s)
        with self.scope():
            self.bind(s.carried)
            self.block(s.condition)
            self.types("condition", s.condition.yields, (u1,))
            self.block(s.body)

    def told(self, s: Print | Assert) -> None:
        if isinstance(s, Assert):
            self.types("condition", (s.cond,), (u1,))
        count = sum(not isinstance(p, str) for p in s.parts)
        self.demand(len(s.formats) in (0, count), f"{len(s.formats)} formats for {count} values")

    def probe(self, s: Probe) -> None:
        for row in (s.slot, s.own):
            self.demand(0 <= row < (s.memory.shape[0] or 0), f"row {row} of {s.memory.shape[0]}")
        self.integers("iteration", s.at)
        if s.tie is not None:
            self.types("tie", (s.tie, s.over or s.tie), (u1, u1))
            self.demand(all(a.type.is_float for a in s.across), "`across` has a value that is not a float")
        self.demand(all(a.type.is_float for a in s.source), "`source` has a value that is not a float")

    def derive(self, s: Derive) -> None:
        self.types("arguments", s.args, (p.type for p in s.params))
        self.fixed.append(set(self.memories))
        self.block(s.body, *s.params)
        self.fixed.pop()
        ins = [p.type for p in s.params if p.type.is_float]
        outs = [y.type for y in s.body.yields if y.type.is_float]
        self.types("seeds", s.seeds, ins if s.mode == "jvp" else outs)
        self.types("results", s.results, outs if s.mode == "jvp" else ins)

    def call(self, s: Call) -> None:
        self.types("arguments", s.args, (p.type for p in s.params))
        self.demand(all(p.type.is_float for p in s.params), "an argument that is no float")
        self.types("results", s.results, (y.type for y in s.body.yields))
        self.fixed.append(set(self.memories))
        self.block(s.body, *s.params)
        ins = [p.type for p in s.params]
        outs = [r.type for r in s.results if r.type.is_float]
        for rule, seeds, derivatives in ((s.jvp, ins, outs), (s.vjp, outs, ins)):
            if rule is not None:
                self.types("params", rule.params, (*ins, *seeds, *(r.type for r in s.results)))
                self.types("derivatives", rule.body.yields, derivatives)
                self.block(rule.body, *rule.params)
        self.fixed.pop()


def _fits(c: Const) -> bool:
    t, v = c.type, c.value
    if t.is_float or t == u1:
        return isinstance(v, float if t.is_float else bool)
    low = -(1 << (t.bits - 1)) if t.kind == "int" else 0
    return isinstance(v, int) and not isinstance(v, bool) and low <= v < low + (1 << t.bits)


_RULES: dict[type, Callable[..., None]] = {
    Let: _Checker.let,
    Load: _Checker.access,
    Store: _Checker.access,
    Accumulate: _Checker.accumulate,
    Alloc: _Checker.alloc,
    UndoLog: _Checker.log,
    Append: _Checker.logging,
    LogMark: _Checker.logging,
    RollBack: _Checker.logging,
    Compact: _Checker.logging,
    If: _Checker.branch,
    For: _Checker.for_,
    While: _Checker.while_,
    Print: _Checker.told,
    Assert: _Checker.told,
    Probe: _Checker.probe,
    Derive: _Checker.derive,
    Call: _Checker.call,
}
