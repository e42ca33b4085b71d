"""One function being lowered, and the compilation that it belongs to."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import NamedTuple, NoReturn

from dsim.diagnostics import Span
from dsim.frontend.frames.memories import Memories
from dsim.frontend.frames.scope import DRAWS, LIVE, RETURNED, Scope
from dsim.frontend.frames.watches import Shows, Watches
from dsim.frontend.source.captures import Captures
from dsim.frontend.source.lowered import LoopConfig
from dsim.frontend.source.paths import Surroundings
from dsim.frontend.source.source import FunctionText
from dsim.frontend.values.emit import Emitter
from dsim.frontend.values.values import Element, LocalFunc, StructElement, Value
from dsim.ir.build import FALSE, TRUE, index
from dsim.ir.nodes import Atom, Origin, Var


class Language(NamedTuple):
    """The mutually recursive functions of the frontend's packages; `lower.py` sets them.

    An expression may be a call, a call inlines statements, and statements contain expressions; their packages
    import one another downwards only.

    Attributes
    ----------
    place : callable
        ``(frame, expression, hint)``: its value; an element of a field is not loaded yet.
    load : callable
        ``(frame, value, hint)``: the value with elements loaded.
    run : callable
        ``(frame, statements, needed)``: lowers statements; `needed` are the names used later.
    call : callable
        ``(frame, call, used, hint)``: the value of a call; `used` tells whether the program uses it.
    invoke : callable
        ``(frame, function, args, keywords, node, hint)``: the value of an inlined function.
    apply : callable
        ``(frame, callee, args, node)``: the value of a call whose callee and arguments are values.
    """

    place: Callable[[Frame, ast.expr, str], Value]
    load: Callable[[Frame, Value, str], Value]
    run: Callable[[Frame, Sequence[ast.stmt], frozenset[str] | None], None]
    call: Callable[[Frame, ast.Call, bool, str], Value]
    invoke: Callable[[Frame, Value, list[Value], dict[str, Value], ast.AST, str], Value]
    apply: Callable[[Frame, Value, list[Value], ast.AST], Value]


class Nest(NamedTuple):
    """The outermost loops around the current place: their indices, first values and lengths."""

    ordinal: int
    axes: tuple[tuple[Atom, Atom, Atom, int], ...] = ()  # index, start, stop, step


class RestartError(Exception):
    """Restarts the compilation, because a local needs a private memory (internal)."""


@dataclass
class Compilation:
    """The state shared by all functions inlined into one kernel."""

    emit: Emitter
    captures: Captures
    memories: Memories
    language: Language
    buffered: set[tuple[str, str]]  # (function, local) stored in private memories
    loops: dict[Var, LoopConfig] = field(default_factory=dict)
    printed: list[str] = field(default_factory=list)  # the output of `static_print`
    launch: Var | None = None
    nest: Nest | None = None
    nests: int = 0
    active: tuple[tuple[object, object], ...] = ()  # functions being inlined, outermost first, and the
    repeated: int = 0  # known parts of their arguments; and the number of recursive calls
    copies: int = 0  # the number of copies of bodies of unrolled loops
    deriving: tuple[object, ...] = ()  # the `Rules` being lowered, outermost first
    watches: Watches = field(default_factory=Watches)
    loop_number: int = 0
    ranges: dict[Var, tuple[int, int]] = field(
        default_factory=dict
    )  # least and greatest value of loop indices


class Frame:
    """One function while it is lowered."""

    def __init__(
        self, c: Compilation, text: FunctionText, surroundings: Surroundings, inlined: tuple[Span, ...] = ()
    ) -> None:
        self.c = c
        self.emit = c.emit
        self.text = text
        self.surroundings = surroundings
        self.inlined = inlined
        self.scope = Scope({LIVE: TRUE, RETURNED: FALSE, DRAWS: index(0)})
        self.loops: list[str] = []  # the ``#go`` of the loops around this place, outermost first
        self.static = 0  # depth of `static(...)`
        self.kind = "kernel"
        self.plain = False  # a Python function without a decorator, with Python's semantics
        self.closure: LocalFunc | None = None  # what is being lowered, if it is a local function
        self.returns: Value = None  # the annotation
        self.result_hint = "result"  # a name for what is returned
        self.templates: set[str] = set()  # parameters passed by reference
        self.kept: frozenset[str] = frozenset()  # locals that are read after it has been lowered
        self.config: LoopConfig | None = None  # for the next loop

    @property
    def name(self) -> str:
        """The function's name."""
        return self.text.node.name

    # places and refusals

    def span(self, node: ast.AST) -> Span:
        """The span of `node`; for a node without one, that of the statement being compiled."""
        known = self.emit.builder.origin.span
        return known if known is not None and not hasattr(node, "lineno") else self.text.span(node)

    def refuse(self, code: str, message: str, node: ast.AST, here: str = "", *, help: str = "") -> NoReturn:
        """Records an error at `node` and aborts the statement."""
        self.emit.refuse(code, message, here, help=help, span=self.span(node))

    @contextmanager
    def at(self, node: ast.AST) -> Iterator[None]:
        """Attributes what is emitted inside to `node`."""
        with self.emit.builder.at(Origin(self.span(node), self.inlined)):
            yield

    # probes

    @property
    def shows(self) -> Shows | None:
        """What emits probes here; None in a kernel that is not watched."""
        if not self.emit.settings.watch or self.c.watches.paused:
            return None
        return Shows(self.c.watches, self.emit.builder)

    # lowering of expressions and statements

    def place(self, node: ast.expr, hint: str = "t") -> Value:
        """The value of an expression; elements of fields are not loaded."""
        return self.c.language.place(self, node, hint)

    def load(self, value: Value, hint: str = "t") -> Value:
        """`value`, loaded when it is an element."""
        return self.c.language.load(self, value, hint)

    def value(self, node: ast.expr, hint: str = "t") -> Value:
        """The value of an expression."""
        value = self.place(node, hint)
        if not isinstance(value, Element | StructElement):
            return value
        with self.at(node):
            return self.load(value, hint)

    def run(self, statements: Sequence[ast.stmt], needed: frozenset[str] | None = None) -> None:
        """Lowers `statements`; `needed` names the locals used after them (None: any)."""
        self.c.language.run(self, statements, needed)

    def call(self, node: ast.Call, hint: str = "t", *, used: bool = True) -> Value:
        """The value of a call; `used` tells whether the program uses it."""
        return self.c.language.call(self, node, used, hint)

    def invoke(
        self, function: Value, args: list[Value], keywords: dict[str, Value], node: ast.AST, hint: str = "t"
    ) -> Value:
        """The value of a function that is inlined."""
        return self.c.language.invoke(self, function, args, keywords, node, hint)

    # names

    @property
    def outer(self) -> Frame | None:
        """The frame around a local function."""
        return None if self.closure is None else self.closure.frame

    def bind(self, name: str, value: Value, node: ast.AST | None = None) -> None:
        """Binds `name` to `value`."""
        self.scope.bind(name, value, None if node is None else self.span(node))

    def in_memory(self, name: str) -> None:
        """Restarts with the local `name` in a private memory; does nothing if it is in one already."""
        if (self.name, name) not in self.c.buffered:
            self.c.buffered.add((self.name, name))
            raise RestartError

    @contextmanager
    def statically(self) -> Iterator[None]:
        """A context in which captured numbers are constants and Python functions may be called."""
        self.static += 1
        try:
            yield
        finally:
            self.static -= 1
