"""The frontend's entry: a Python function becomes a kernel."""

from __future__ import annotations

import ast
import sys
import types
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, NoReturn, get_args

from dsim.diagnostics import CompilationError, Diagnostic, KernelSyntaxError, Source
from dsim.frontend.calls import calls
from dsim.frontend.expressions import elements, expressions
from dsim.frontend.expressions.local_values import buffered
from dsim.frontend.expressions.records import RecordType, is_record
from dsim.frontend.frames.births import with_births
from dsim.frontend.frames.frame import Compilation, Frame, Language, RestartError
from dsim.frontend.frames.kinks import with_kinks
from dsim.frontend.frames.memories import Memories
from dsim.frontend.frames.names import imported
from dsim.frontend.frames.parameters import parameter
from dsim.frontend.frames.scope import RESULT, RETURNED
from dsim.frontend.inlining import funcs, signatures
from dsim.frontend.source import methods
from dsim.frontend.source.captures import Captures, is_host_matrix
from dsim.frontend.source.lambdas import NAME as LAMBDA
from dsim.frontend.source.lowered import AnyReturn, Lowered, LoweringSettings, Param, Returns, StructParam
from dsim.frontend.source.paths import Path, Surroundings
from dsim.frontend.source.problems import RefusedError
from dsim.frontend.source.source import FunctionText, parse, read
from dsim.frontend.source.struct_types import is_host_struct
from dsim.frontend.statements import statements
from dsim.frontend.values.emit import Emitter
from dsim.frontend.values.structure import same, scalars
from dsim.frontend.values.types import ArrayType, MatrixType, array_type, is_template
from dsim.frontend.values.values import (
    FieldValue,
    Mat,
    Opaque,
    Poison,
    RecordValue,
    StructFieldValue,
    Value,
    size,
)
from dsim.ir import sites
from dsim.ir.build import TRUE
from dsim.ir.nodes import Atom, KernelIR, Memory, Origin
from dsim.ir.types import ScalarType

LANGUAGE = Language(
    place=expressions.place,
    load=elements.load,
    run=statements.run,
    call=calls.call,
    invoke=funcs.invoke,
    apply=calls.apply,
)


def lower(
    function: Callable[..., Any],
    settings: LoweringSettings | None = None,
    promoted: frozenset[str] = frozenset(),
    kind: str = "kernel",
    bound: Mapping[str, Any] | None = None,
) -> Lowered:
    """The kernel that the Python function `function` describes.

    Parameters
    ----------
    function : function or bound method
        Its source is read; it is not run. The owner of a method is known at compile time.
    settings : LoweringSettings
        Default types.
    promoted : frozenset of str
        Captured numbers, by name, that become parameters.
    kind : str
        The word for it in messages: ``kernel`` or ``func``.
    bound : mapping of str to object
        Values of parameters that are known at compile time (fields for ``template()`` parameters).

    Raises
    ------
    CompilationError
        With every error found, in the order of the source.
    """
    python, known = _unbound(function, dict(bound or {}))
    text = read(python)
    if text.node.name == LAMBDA:
        message, help = f"a {kind} is not written as a `lambda`", "write it as a function with `def`"
        raise KernelSyntaxError(Diagnostic("syntax", message, text.name_span(), help=help))
    attempt = _Attempt(python, text, settings or LoweringSettings(), kind, known)
    with _room_for_nesting():
        try:
            return attempt.lowered(promoted)
        except CompilationError:
            if not promoted:
                raise
        attempt.printed = True
        return attempt.lowered(attempt.possible(promoted))


def lower_call(func: Any, params: Mapping[str, Any], settings: LoweringSettings) -> Lowered:
    """A kernel that calls `func`, once, and does nothing else.

    Parameters
    ----------
    func : func
        What to call, by the protocol of funcs.
    params : mapping of str to object
        For each parameter in order a scalar type, a matrix type, or a value that is known at compile time.
    settings : LoweringSettings
        Default types.
    """
    name = func.__dsim_func__.__name__
    names = ", ".join(params)
    source = Source(f"<a call of {name}>", f"def {name}({names}):\n    called({names})", 1)
    namespace: dict[str, Any] = {"called": func}
    exec(source.text, namespace)
    python = namespace[name]
    python.__annotations__ = dict(params)
    known = {n: v for n, v in params.items() if not isinstance(v, ScalarType | MatrixType)}
    attempt = _Attempt(python, parse(source, name), settings, "kernel", known)
    with _room_for_nesting():
        return attempt.lowered(frozenset())


@contextmanager
def _room_for_nesting() -> Iterator[None]:
    """A sum of a thousand terms is nested a thousand deep in Python's syntax tree."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(max(before, 20_000))
    try:
        yield
    finally:
        sys.setrecursionlimit(before)


@dataclass
class _Attempt:
    """A function to be lowered, perhaps more than once."""

    python: Any  # a plain function (a type checker takes one in an attribute for a method)
    text: FunctionText
    settings: LoweringSettings
    kind: str
    bound: Mapping[str, Any]
    buffered: set[tuple[str, str]] = field(default_factory=set)
    pins: bool = False  # truth values of numbers that launches pass are known at compile time
    printed: bool = False  # the output of `static_print` was printed

    def lowered(self, promoted: frozenset[str]) -> Lowered:
        """The function with these captured numbers as parameters."""
        while True:
            try:
                return _Lowering(self, promoted).run()
            except RestartError:
                continue

    def possible(self, promoted: frozenset[str]) -> frozenset[str]:
        """Those of `promoted` that may be parameters; a length or a step must be known at compile time."""
        kept: frozenset[str] = frozenset()
        for name in sorted(promoted):
            try:
                self.lowered(kept | {name})
            except CompilationError:
                continue
            kept |= {name}
        return kept


def _unbound(
    function: Callable[..., Any], bound: dict[str, Any]
) -> tuple[types.FunctionType, dict[str, Any]]:
    """The function without its owner, which becomes the known value of its first parameter."""
    python = function.__func__ if isinstance(function, types.MethodType) else function
    assert isinstance(python, types.FunctionType)
    if isinstance(function, types.MethodType):
        bound = {python.__code__.co_varnames[0]: function.__self__, **bound}
    return python, bound


class _Lowering:
    """One attempt at lowering one function."""

    def __init__(self, attempt: _Attempt, promoted: frozenset[str]) -> None:
        self.python, self.text, self.kind = attempt.python, attempt.text, attempt.kind
        self.bound = attempt.bound
        self.attempt = attempt
        emit = Emitter(attempt.settings, attempt.pins)
        self.emit = emit
        self.printed = attempt.printed
        self.c = Compilation(emit, Captures(promoted), Memories(emit), LANGUAGE, attempt.buffered)
        self.c.active = ((self.python, ()),)
        self.frame = Frame(self.c, self.text, Surroundings(self.python))
        self.params: list[Param | StructParam] = []

    def run(self) -> Lowered:
        """Lowers the function whole."""
        problems = self.emit.problems
        yields: tuple[Atom, ...] = ()
        try:
            self._signature(self.bound)
            self.frame.run(self.text.node.body, frozenset())
            yields = self._yields()
        except RefusedError:
            pass  # noted
        except RecursionError:
            message = f"`{self.text.node.name}` is nested too deeply"
            problems.note(
                Diagnostic("limit", message, self.text.name_span(), help="split its longest expressions")
            )
        numbers = self.emit.launch_numbers
        if numbers.branched and (numbers.mixed or problems.failed):
            self.attempt.pins = True
            raise RestartError
        if self.c.printed and not self.printed:
            sys.stdout.write("".join(self.c.printed))
        problems.check()
        return self._lowered(yields)

    # the signature

    def _signature(self, bound: Mapping[str, Any]) -> None:
        f, node = self.frame, self.text.node
        annotations = signatures.annotated(f, self.python)
        f.returns = signatures.declared_result(f, annotations.get("return"), node)
        spec = node.args
        if spec.vararg or spec.kwarg:
            f.refuse("syntax", f"a {self.kind} takes no `*` parameters", node, help="name every parameter")
        refused = False
        for a in (*spec.posonlyargs, *spec.args, *spec.kwonlyargs):
            try:
                with f.at(a):
                    self._parameter(a, annotations.get(a.arg), bound)
            except RefusedError:
                refused = True
        if refused:
            raise RefusedError

    def _parameter(self, a: ast.arg, annotation: Any, bound: Mapping[str, Any]) -> None:
        f = self.frame
        self.c.captures.reserve(a.arg, id(f))
        kind = bound.get(a.arg)
        if isinstance(kind, RecordType):
            f.bind(a.arg, self._record(a, kind, bound), a)
            return
        value = self._value(a, a.arg, annotation, bound)
        if isinstance(value, Mat) and (f.name, a.arg) in self.c.buffered:
            value = buffered(f, a.arg, value)
        f.bind(a.arg, value, a)

    def _record(self, a: ast.arg, kind: RecordType, bound: Mapping[str, Any]) -> RecordValue:
        members: dict[str, Value] = {}
        for name, annotation in kind.members.items():
            if isinstance(annotation, RecordType):
                members[name] = self._record(a, annotation, bound)
            else:
                members[name] = self._value(a, f"{kind.name}.{name}", annotation, bound)
        return RecordValue(kind.kind, kind.name, members)

    def _value(self, a: ast.arg, name: str, annotation: Any, bound: Mapping[str, Any]) -> Value:
        """The value of the parameter `name`, or of a member of one; `a` is its syntax node."""
        f = self.frame
        if name in bound:
            value = imported(f, bound[name], _path_of(bound[name], name), a)
            return _renamed(value, name, array_type(annotation))
        made = parameter(self.emit, name, annotation)
        if made is None:
            self._refuse_parameter(a, name, annotation)
        self.params.append(made[0])
        return made[1]

    def _refuse_parameter(self, a: ast.arg, name: str, annotation: Any) -> NoReturn:
        what, help = f"parameter `{name}`", f"annotate it: `{name}: ds.f32`"
        if name != a.arg:
            what = f"member `{name}`"
            help = "annotate it with a type of numbers, `ds.types.ndarray()`, `ds.template()` or a dataclass"
        if annotation is None:
            known = "has no type" if name == a.arg else "has no known type"
            if a.arg == self.python.__code__.co_varnames[0]:
                help = methods.advice(self.python) or help
            self.frame.refuse("argument", f"the {what} {known}", a, help=help)
        if is_template(annotation) or array_type(annotation) is not None:
            self.frame.refuse(
                "argument", f"the argument for `{name}` is not known", a, help="pass it at the call"
            )
        if is_record(annotation):
            self._refuse_record(a, name, annotation)
        if any(map(is_record, get_args(annotation))):
            help = f"annotate it `{a.arg}: ds.template()`, and tell the classes apart by `match {a.arg}:`"
        takes = "a parameter of this type" if name == a.arg else f"the {what}, which is of another type"
        self.frame.refuse("argument", f"a {self.kind} cannot take {takes}", a, help=help)

    def _refuse_record(self, a: ast.arg, name: str, kind: type) -> NoReturn:
        """Refuses a dataclass that the signature did not expand into members."""
        message = f"`{kind.__name__}` was not defined when the {self.kind} was"
        help = f"define the class above the {self.kind}"
        if name != a.arg:
            message = f"`{name}` is a `{kind.__name__}`, which contains itself"
            help = "a kernel has a fixed number of arguments: store linked data in fields"
        self.frame.refuse("argument", message, a, help=help)

    # the result

    def _yields(self) -> tuple[Atom, ...]:
        f = self.frame
        promised: AnyReturn | None = f.returns
        value = f.scope.values.get(RESULT)
        if isinstance(value, Poison):
            raise RefusedError
        if promised is None:
            return ()
        if value is None or not same(f.scope.values[RETURNED], TRUE):
            node = self.text.node.returns or self.text.node
            message = f"`{f.name}` declares a result, but lacks one on some path"
            f.refuse("return", message, node, help="end it with a `return`")
        if not isinstance(promised, Returns):
            return tuple(self.emit.atom(s) for s in scalars(value))
        atoms = tuple(self.emit.atom(s, promised.dtype) for s in scalars(value))
        assert len(atoms) == size(promised.shape)
        return atoms

    def _lowered(self, yields: tuple[Atom, ...]) -> Lowered:
        c = self.c
        params = [v for p in self.params for v in p.vars]
        params += self.emit.launch_numbers.params
        if c.launch is not None:
            params.append(c.launch)
        body, memories = self.emit.builder.close(yields), tuple(c.memories.used)
        shown: Memory | None = None
        if self.emit.settings.kinks:
            body = with_kinks(body, c.watches, self.emit.builder)
        if self.emit.settings.births:
            body = with_births(body, c.watches)
        if c.watches.rows > 1:
            name = self.emit.builder.names.fresh("shown")
            body, shown = c.watches.placed(body, name)
            memories = (*memories, shown)
        kernel = KernelIR(
            self.text.node.name,
            tuple(params),
            memories,
            body,
            origin=Origin(self.text.name_span()),
        )
        return Lowered(
            sites.number(kernel),
            dict(c.memories.fields),
            dict(c.memories.called),
            tuple(self.params),
            tuple(c.captures.constants.values()),
            tuple(c.captures.hidden.values()),
            self.emit.launch_numbers,
            self.frame.returns,
            c.launch is not None,
            self.emit.problems.sorted(),
            tuple(c.captures.objects.values()),
            dict(c.loops),
            tuple(c.watches.slots.values()),
            tuple(c.watches.kinks.values()),
            tuple(c.watches.births.values()),
            shown,
        )


def _path_of(held: Any, name: str) -> Path | None:
    """The path by which each launch compares a compile-time argument; None for one that cannot change."""
    changeable = is_host_matrix(held) or is_host_struct(held) or isinstance(held, list | Mapping | set)
    return Path(name, lambda: held) if changeable else None


def _renamed(value: Value, name: str, array: ArrayType | None) -> Value:
    """A bound field is named after its parameter; other Python objects are reached through it."""
    if isinstance(value, FieldValue):
        return FieldValue(value.field, name, array is not None and array.clamped)
    if isinstance(value, StructFieldValue):
        return StructFieldValue(value.field, name)
    if isinstance(value, Opaque):
        held = value.value
        return Opaque(held, Path(name, lambda: held))
    return value
