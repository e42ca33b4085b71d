"""Writes a kernel as a Python function, with comments that quote the user's lines.

A value that is used once, in the block that defines it, is inlined into the expression that uses it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from dsim.backends.reference.names import FUNCTIONS, PythonNames, filled, literal, typed
from dsim.ir import nodes as ir
from dsim.ir.primitives import TABLE
from dsim.ir.types import BY_NAME
from dsim.ir.walk import blocks, operands

_LONGEST = 72  # the most characters of an expression with inlined operands
_WHAT = {"reverse": "backward of ", "forward": "tangent of "}
_TEMPORARY = re.compile(r"t(_\d+)?")
_OPERATORS = {"add": "+=", "mul": "*=", "band": "&=", "bor": "|=", "bxor": "^="}
_CHOICES = {"min": "minimum", "max": "maximum"}


class PythonText(NamedTuple):
    """A function's text.

    Attributes
    ----------
    imports, body : str
        The import lines, and the function.
    name : str
        The function's name; it takes the memories in the kernel's order, then the parameters.
    lines : dict
        The statement that a line of `body`, counted from 1, comes from.
    """

    imports: str
    body: str
    name: str
    lines: dict[int, ir.Statement]


def write(kernel: ir.KernelIR) -> PythonText:
    """`kernel` as one Python function over NumPy scalars.

    Raises
    ------
    ValueError
        When `Derive` or `Call` nodes are left; `autodiff.expand` and `passes.inline` replace them.
    """
    return _Writer(kernel).written()


class _Writer:
    def __init__(self, kernel: ir.KernelIR) -> None:
        self.kernel = kernel
        self.names = PythonNames()
        self.name = self.names.fresh(kernel.name)
        self.lines: list[str] = []
        self.origins: dict[int, ir.Statement] = {}
        self.depth = 1
        self.said: tuple[object, ...] = ()  # the source line of the last comment
        self.movable = _used_once_in_their_block(kernel.body)
        self.inline: dict[str, str] = {}  # values that are inlined into their use

    def written(self) -> PythonText:
        memories = [self.names.memory(m) for m in self.kernel.memories]
        params = [self.names.variable(p.name) for p in self.kernel.params]
        head = f"def {self.name}({', '.join(memories + params)}):"
        self.block(self.kernel.body)
        if self.kernel.body.yields:
            returned = [self.scalar(a) for a in self.kernel.body.yields]
            self.line(f"return {', '.join(returned)}" + ("," if len(returned) == 1 else ""))
        elif not self.lines:
            self.line("pass")
        text = "\n".join([head, *self.lines, ""])
        lines = {n + 2: s for n, s in self.origins.items()}  # behind the head, counted from 1
        return PythonText(_imports(text), text, self.name, lines)

    # lines

    def line(self, text: str, of: ir.Statement | None = None) -> None:
        if of is not None:
            self.comment(of.origin)
            self.origins[len(self.lines)] = of
        self.lines.append("    " * self.depth + text)

    def comment(self, origin: ir.Origin) -> None:
        span = origin.span
        about = (span and (span.source.file, span.line), origin.transforms)
        if span is None or about == self.said:
            return
        self.said = about
        what = "".join(_WHAT.get(t, f"{t} of ") for t in reversed(origin.transforms))
        quoted = span.source.line(span.line).strip()
        self.lines.append("    " * self.depth + f"# {what}line {span.line}: {quoted}")

    @contextmanager
    def indented(self) -> Iterator[None]:
        """Indents the lines written inside; ``pass`` when there are none."""
        before = len(self.lines)
        self.depth += 1
        yield
        if all(line.lstrip().startswith("#") for line in self.lines[before:]):
            self.line("pass")
        self.depth -= 1
        self.said = ()

    # atoms

    def plain(self, a: ir.Atom) -> str:
        """An atom where the context implies its type: constants are plain numbers."""
        return literal(a) if isinstance(a, ir.Const) else self.value(a)

    def scalar(self, a: ir.Atom) -> str:
        """An atom as a NumPy scalar."""
        return typed(a) if isinstance(a, ir.Const) else self.value(a)

    def value(self, a: ir.Atom) -> str:
        assert not isinstance(a, ir.Const)
        return self.inline.pop(a.name, None) or self.names.variable(a.name)

    def element(self, m: ir.Memory, index: tuple[ir.Atom, ...]) -> str:
        return f"{self.names.memory(m)}[{', '.join(map(self.plain, index)) or '()'}]"

    def message(self, parts: tuple[str | ir.Atom, ...], formats: tuple[str, ...] = ()) -> str:
        given = iter(formats)
        shown = (repr(p) if isinstance(p, str) else self.formatted(p, next(given, "")) for p in parts)
        return ", ".join(shown)

    def formatted(self, a: ir.Atom, given: str) -> str:
        if given.startswith("%"):
            return f"{given!r} % {self.scalar(a)}"
        return f"format({self.scalar(a)}, {given[1:]!r})" if given else self.scalar(a)

    # statements

    def block(self, block: ir.Block) -> None:
        for s in block.statements:
            match s:
                case ir.Let():
                    self.let(s)
                case ir.Load() | ir.Store() | ir.Accumulate() | ir.Alloc():
                    self.access(s)
                case ir.UndoLog() | ir.Append() | ir.LogMark() | ir.RollBack() | ir.Compact():
                    self.logging(s)
                case ir.Print() | ir.Assert():
                    self.told(s)
                case ir.If():
                    self.branch(s)
                case ir.For():
                    self.for_(s)
                case ir.While():
                    self.while_(s)
                case ir.Derive() | ir.Call():
                    raise ValueError("a derivative or call inside a kernel is expanded before this")

    def let(self, s: ir.Let) -> None:
        texts = [None if isinstance(a, ir.Const) else self.value(a) for a in s.args]
        text = filled(TABLE[s.op].python, s.args, texts, s.var.type.name)
        if s.var.name in self.movable and len(text) <= _LONGEST:
            self.inline[s.var.name] = text
        else:
            self.line(f"{self.names.variable(s.var.name)} = {text}", s)

    def access(self, s: ir.Load | ir.Store | ir.Accumulate | ir.Alloc) -> None:
        match s:
            case ir.Load():
                element = self.element(s.memory, s.index)
                self.line(f"{self.names.variable(s.var.name)} = {element}", s)
            case ir.Store():
                self.line(f"{self.element(s.memory, s.index)} = {self.plain(s.value)}", s)
            case ir.Accumulate():
                self.accumulate(s)
            case ir.Alloc():
                lengths = "".join(f"{self.plain(n)}, " for n in s.shape)
                self.line(f"{self.names.memory(s.memory)} = zeros(({lengths.rstrip()}), {s.memory.type})", s)

    def told(self, s: ir.Print | ir.Assert) -> None:
        if isinstance(s, ir.Print):
            self.line(f'print({self.message(s.parts, s.formats)}, sep="", end={s.end!r})', s)
            return
        cond, comma = self.plain(s.cond), "," if len(s.parts) == 1 else ""
        parts = f", ({self.message(s.parts, s.formats)}{comma})" if s.parts else ""
        self.line(f"assert {cond}{parts}", s)

    def accumulate(self, s: ir.Accumulate) -> None:
        element = self.element(s.memory, s.index)
        if s.old is not None:
            self.line(f"{self.names.variable(s.old.name)} = {element}", s)
        if s.op in _CHOICES:
            self.line(f"{element} = {_CHOICES[s.op]}({element}, {self.scalar(s.value)})", s)
        else:
            self.line(f"{element} {_OPERATORS[s.op]} {self.plain(s.value)}", s)

    def logging(self, s: ir.Logging) -> None:
        """Writes an operation on an undo log: a list of indices and the values before the writes."""
        log = self.names.memory(s.log)
        match s:
            case ir.UndoLog():
                self.line(f"{log} = []", s)
            case ir.Append():
                at = ", ".join(map(self.plain, s.index))
                place = f"({at},)" if len(s.index) == 1 else f"({at})"
                self.line(f"{log}.append(({place}, {self.names.memory(s.memory)}[{at or '()'}]))", s)
            case ir.LogMark():
                self.line(f"{self.names.variable(s.var.name)} = i64(len({log}))", s)
            case ir.RollBack():
                at, value = self.names.fresh("at"), self.names.fresh("value")
                self.line(f"while len({log}) > {self.plain(s.mark)}:", s)
                with self.indented():
                    self.line(f"{at}, {value} = {log}.pop()", s)
                    self.line(f"{self.names.memory(s.memory)}[{at}] = {value}", s)
            case ir.Compact():
                behind = f"{log}[{self.plain(s.mark)}:]"
                self.line(f"{behind} = reversed(dict(reversed({behind})).items())  # the oldest of each", s)

    def assign(self, names: list[str], atoms: tuple[ir.Atom, ...], of: ir.Statement) -> None:
        """Assigns all of `names` simultaneously."""
        texts = [self.scalar(a) for a in atoms]
        pairs = [(n, t) for n, t in zip(names, texts, strict=True) if n != t]
        if pairs:
            self.line(f"{', '.join(n for n, _ in pairs)} = {', '.join(t for _, t in pairs)}", of)

    def branch(self, s: ir.If) -> None:
        results = [self.names.variable(r.name) for r in s.results]
        cond, nothing = self.plain(s.cond), ir.Block(())
        if s.then == nothing:
            self.line(f"if not ({cond}):", s)
        else:
            self.line(f"if {cond}:", s)
            self.arm(s, s.then, results)
            if s.orelse == nothing:
                return
            self.line("else:")
        self.arm(s, s.orelse, results)

    def arm(self, s: ir.If, block: ir.Block, results: list[str]) -> None:
        with self.indented():
            self.block(block)
            self.assign(results, block.yields, s)

    def carry(self, s: ir.For | ir.While) -> list[str]:
        """Assigns the carried values their initial values; the results have the same names."""
        first = [self.scalar(a) for a in s.init]
        names = [self.names.variable(c.name) for c in s.carried]
        for name, text, result in zip(names, first, s.results, strict=True):
            self.line(f"{name} = {text}", s)
            self.names.alias(result.name, name)
        return names

    def for_(self, s: ir.For) -> None:
        start, stop = self.plain(s.start), self.plain(s.stop)
        ends = f"{start}, {stop}, {s.step}" if s.step != 1 else stop if start == "0" else f"{start}, {stop}"
        names = self.carry(s)
        index = self.names.variable(s.index.name)
        self.line(f"for {index} in map({s.index.type}, range({ends})):", s)
        with self.indented():
            if s.goes_on is not None:
                self.line(f"if not {self.names.variable(s.goes_on.name)}:", s)
                self.line("    break")
            self.block(s.body)
            self.assign(names, s.body.yields, s)

    def while_(self, s: ir.While) -> None:
        names = self.carry(s)
        self.line("while True:", s)
        head = len(self.lines)
        with self.indented():
            self.block(s.condition)
            condition = self.plain(s.condition.yields[0])
            if len(self.lines) == head:  # the condition is one expression
                self.lines[-1] = self.lines[-1].replace("True", condition)
            else:
                self.line(f"if not ({condition}):", s)
                self.line("    break")
            self.block(s.body)
            self.assign(names, s.body.yields, s)


def _imports(text: str) -> str:
    """The import lines that `text` needs."""
    words = set(re.findall(r"[a-zA-Z_]\w*", re.sub(r"#.*", "", text)))
    scalars = [f"{t.numpy.name} as {n}" for n, t in BY_NAME.items() if n in words and n != "u1"]
    scalars += ["bool_ as u1"] * ("u1" in words) + ["zeros"] * ("zeros" in words)
    lines = ["import numpy as np"] * ("np" in words)
    lines += [f"from numpy import {', '.join(scalars)}"] * bool(scalars)
    functions = [n for n in FUNCTIONS if n in words]
    lines += [""] * (bool(lines) and bool(functions))
    lines += [f"from dsim.ir.arithmetic import {', '.join(functions)}"] * bool(functions)
    return "\n".join(lines)


def _used_once_in_their_block(body: ir.Block) -> set[str]:
    """Temporaries whose only use is in the block that defines them, which may be inlined."""
    total: Counter[str] = Counter()
    candidates: list[str] = []

    def scan(block: ir.Block) -> None:
        here: Counter[str] = Counter()
        for s in block.statements:
            here.update(a.name for a in operands(s) if not isinstance(a, ir.Const))
            for inner in blocks(s):
                scan(inner)
        here.update(a.name for a in block.yields if not isinstance(a, ir.Const))
        total.update(here)
        made = (s.var.name for s in block.statements if isinstance(s, ir.Let))
        candidates.extend(n for n in made if here[n] == 1 and _TEMPORARY.fullmatch(n))

    scan(body)
    return {n for n in candidates if total[n] == 1}
