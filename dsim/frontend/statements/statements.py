"""Statements, by the kind of their syntax node, and lists of them."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from functools import partial

from dsim.diagnostics import Label
from dsim.frontend.control import exits
from dsim.frontend.control.carrying import revived
from dsim.frontend.expressions import assign, closures, updates
from dsim.frontend.expressions.branches import fork
from dsim.frontend.expressions.logic import of_value, truth
from dsim.frontend.expressions.structs import as_type
from dsim.frontend.frames.frame import Frame
from dsim.frontend.frames.scope import LIVE, RETURNED
from dsim.frontend.frames.static import is_static_call, unrolled
from dsim.frontend.source.problems import RefusedError
from dsim.frontend.statements import loops, matching, stops
from dsim.frontend.statements.messages import report_assert
from dsim.frontend.values.operators import operand
from dsim.frontend.values.structure import scalars
from dsim.frontend.values.types import MatrixType, matrix_type, scalar_type, struct_type
from dsim.frontend.values.values import POISON, Mat, Value, describe, is_open
from dsim.ir.build import FALSE, TRUE
from dsim.ir.nodes import Const, Var
from dsim.ir.types import ScalarType

Lower = Callable[[Frame, ast.stmt, "frozenset[str] | None"], None]


def run(f: Frame, statements: Sequence[ast.stmt], needed: frozenset[str] | None = None) -> None:
    """Lowers `statements` in order; what follows an exit runs only where it was not taken.

    `needed` names the locals that are used after the last one (None: any may be).
    """
    for i, s in enumerate(map(_nested, statements)):
        live = f.scope.values[LIVE]
        if live == FALSE:
            return
        rest = statements[i:]
        if live != TRUE:
            go_on = partial(run, f, rest, needed)
            fork(f, live, partial(revived, f, go_on), partial(_dead, f), needed)
            return
        if isinstance(s, ast.If) and len(rest) > 1 and _splits(f, s):
            _guarded(f, s, partial(_if, f, s, needed, rest[1:]))
            return
        _guarded(f, s, partial(statement, f, s, needed if len(rest) == 1 else None))


def _dead(f: Frame) -> None:
    f.scope.values[LIVE] = FALSE
    if not f.loops:  # only `return` leads here
        f.scope.values[RETURNED] = TRUE


def _nested(s: ast.stmt) -> ast.stmt:
    """``if a and b: …`` as ``if a: if b: …`` where `b` assigns a name, which the body then has."""
    if not isinstance(s, ast.If) or s.orelse or not isinstance(s.test, ast.BoolOp):
        return s
    first, *others = s.test.values
    named = any(isinstance(n, ast.NamedExpr) for b in others for n in ast.walk(b))
    if not named or not isinstance(s.test.op, ast.And):
        return s
    test = others[0] if len(others) == 1 else ast.copy_location(ast.BoolOp(s.test.op, others), others[0])
    inner = ast.copy_location(ast.If(test, s.body, []), s)
    return ast.copy_location(ast.If(first, [inner], []), s)


def _splits(f: Frame, s: ast.If) -> bool:
    """Whether exactly one branch always exits, so that the other continues with what follows."""
    return exits.leaves(s.body) != exits.leaves(s.orelse)


def _guarded(f: Frame, s: ast.stmt, lower: Callable[[], None]) -> None:
    """Runs `lower`; if it is refused, the names that `s` assigns become unknown."""
    try:
        with f.at(s):
            lower()
    except RefusedError:
        for name in exits.assigned([s]):
            if (
                name in f.surroundings.local or name in f.scope.values
            ):  # a field is not made unknown by a bad store
                f.bind(name, POISON)
        if any(isinstance(n, ast.Return) for n in ast.walk(s)):
            exits.give(f, POISON)


def statement(f: Frame, s: ast.stmt, needed: frozenset[str] | None) -> None:
    """Lowers one statement."""
    lower = _BY_NODE.get(type(s))
    if lower is None:
        what, help = _UNSUPPORTED.get(type(s), (f"`{type(s).__name__.lower()}`", ""))
        f.refuse("syntax", f"kernels have no {what}", s, help=help)
    lower(f, s, needed)


_UNSUPPORTED: dict[type, tuple[str, str]] = {
    ast.Try: ("`try`", "kernels raise no exceptions; test values with `if`"),
    ast.With: ("`with`", "use it around the launch of the kernel"),
    ast.Raise: ("`raise`", "use `assert condition, message`"),
    ast.Delete: ("`del`", "a local is freed at the end of its block"),
    ast.Import: ("`import`", "import outside the kernel"),
    ast.ImportFrom: ("`import`", "import outside the kernel"),
    ast.ClassDef: ("`class`", "define it outside the kernel"),
    ast.AsyncFunctionDef: ("`async`", ""),
    ast.AsyncFor: ("`async`", ""),
    ast.AsyncWith: ("`async`", ""),
}


# ------------------------------------------------------------------ plain statements


def _assign(f: Frame, s: ast.stmt, needed: frozenset[str] | None) -> None:
    assert isinstance(s, ast.Assign)
    first = s.targets[0]
    hint = first.id if isinstance(first, ast.Name) else "t"
    value = f.value(s.value, hint)
    for target in s.targets:
        assign.assign(f, target, value, s)


def _annotated(f: Frame, s: ast.stmt, needed: frozenset[str] | None) -> None:
    assert isinstance(s, ast.AnnAssign)
    with f.statically():
        annotation = f.value(s.annotation)
    type_, kind = scalar_type(annotation, f.emit.settings), struct_type(annotation)
    vector = matrix_type(annotation)
    if s.value is None or not isinstance(s.target, ast.Name):
        f.refuse("syntax", "an annotated name needs a value", s, help="write `a: ds.f32 = 0.0`")
    value = f.value(s.value, s.target.id)
    if kind is not None:
        value = as_type(f, value, kind, s.target.id)
    if vector is not None:
        value, type_ = _as_vector(f, value, vector, s), scalar_type(vector.dtype, f.emit.settings)
    if type_ is not None and not f.plain:
        _check_annotated_before(f, s.target, type_)
    assign.assign_name(f, s.target, value, s, None if f.plain else type_)


def _as_vector(f: Frame, value: Value, vector: MatrixType, s: ast.AnnAssign) -> Value:
    given = operand(f.emit, value)
    if not isinstance(given, Mat) or given.shape != vector.shape:
        wanted = describe(Mat(vector.shape, ()))
        f.refuse("shape", f"this is annotated as {wanted}, but the value is {describe(value)}", s)
    return given


def _check_annotated_before(f: Frame, target: ast.Name, type_: ScalarType) -> None:
    """Refuses a second, different annotation of a local."""
    old = f.scope.values.get(target.id)
    entries = scalars(old) if old is not None else []
    if not entries or is_open(entries[0]) or f.emit.type_of(entries[0]) == type_:
        return
    first = f.scope.first.get(target.id)
    labels = () if first is None else (Label(first, "its type comes from here"),)
    was = f.emit.type_of(entries[0])
    article = "a" if was.kind == "uint" else "an"
    f.emit.refuse(
        "type",
        f"`{target.id}` is {article} {was} already, and a local keeps its type",
        help="give the new value a name of its own",
        span=f.span(target),
        labels=labels,
    )


def _augmented(f: Frame, s: ast.stmt, needed: frozenset[str] | None) -> None:
    assert isinstance(s, ast.AugAssign)
    updates.augmented(f, s)


def _expression(f: Frame, s: ast.stmt, needed: frozenset[str] | None) -> None:
    assert isinstance(s, ast.Expr)
    if isinstance(s.value, ast.Constant):
        return  # a docstring
    if isinstance(s.value, ast.Call):
        with f.at(s.value):
            if not stops.said(f, s.value):
                f.call(s.value, used=False)
        return
    f.value(s.value)


def _pass(f: Frame, s: ast.stmt, needed: frozenset[str] | None) -> None:
    """Nothing."""


def _assert(f: Frame, s: ast.stmt, needed: frozenset[str] | None) -> None:
    assert isinstance(s, ast.Assert)
    report_assert(f, s)


def _outer(f: Frame, s: ast.stmt, needed: frozenset[str] | None) -> None:
    """``global`` and ``nonlocal``, which are refused once: not for each use of the names, too."""
    assert isinstance(s, ast.Global | ast.Nonlocal)
    for name in s.names:
        f.bind(name, POISON)
    what, help = "`global`", "write to a field"
    if isinstance(s, ast.Nonlocal):
        what, help = "`nonlocal`", "return the new value and assign it where you call, or write to a field"
    f.refuse("syntax", f"kernels have no {what}", s, help=help)


def _function(f: Frame, s: ast.stmt, needed: frozenset[str] | None) -> None:
    assert isinstance(s, ast.FunctionDef)
    f.bind(s.name, closures.from_def(f, s), s)


# ------------------------------------------------------------------ the flow of control


def _if_alone(f: Frame, s: ast.stmt, needed: frozenset[str] | None) -> None:
    assert isinstance(s, ast.If)
    _if(f, s, needed, ())


def _if(f: Frame, s: ast.If, needed: frozenset[str] | None, rest: Sequence[ast.stmt]) -> None:
    """An ``if``; `rest`, the statements after it, are lowered in the branch that does not exit."""
    then, orelse = list(s.body), list(s.orelse)
    if rest:
        (orelse if exits.leaves(s.body) else then).extend((stops.Reset(f, s), *rest))
    test = _static_condition(f, s.test)
    if test is not None:
        run(f, then if test else orelse, needed)
        return
    cond, stopped = truth(f, s.test), f.emit.stopped

    def in_both() -> set[str]:
        return {*exits.assigned(s.body)}.intersection(exits.assigned(s.orelse))

    fork(f, cond, lambda: run(f, then, needed), lambda: run(f, orelse, needed), needed, in_both)
    f.emit.stopped = stopped  # also where the condition is known, and there is no block of its own


def _static_condition(f: Frame, test: ast.expr) -> bool | None:
    """The truth of ``static(…)`` as a condition, or None when `test` is no such call."""
    if is_static_call(f, test):
        holds = of_value(f, f.value(test), test)
        assert not isinstance(holds, Var)  # `static` refuses those
        return bool(holds.value) if isinstance(holds, Const) else holds
    return None


def _match(f: Frame, s: ast.stmt, needed: frozenset[str] | None) -> None:
    assert isinstance(s, ast.Match)
    matching.lower(f, s, needed)


def _for(f: Frame, s: ast.stmt, needed: frozenset[str] | None) -> None:
    assert isinstance(s, ast.For)
    written_out = unrolled(f, s.iter)
    if written_out is not None:
        loops.written_out(f, s, *written_out)
    else:
        loops.counted(f, s)


def _while(f: Frame, s: ast.stmt, needed: frozenset[str] | None) -> None:
    assert isinstance(s, ast.While)
    loops.conditional(f, s)


def _break(f: Frame, s: ast.stmt, needed: frozenset[str] | None) -> None:
    exits.leave_loop(f, "break")


def _continue(f: Frame, s: ast.stmt, needed: frozenset[str] | None) -> None:
    exits.leave_loop(f, "continue")


def _return(f: Frame, s: ast.stmt, needed: frozenset[str] | None) -> None:
    assert isinstance(s, ast.Return)
    exits.leave_function(f, s)


_BY_NODE: dict[type, Lower] = {
    ast.Assign: _assign,
    ast.AnnAssign: _annotated,
    ast.AugAssign: _augmented,
    ast.Expr: _expression,
    ast.Pass: _pass,
    stops.Reset: stops.reset,
    ast.Assert: _assert,
    ast.FunctionDef: _function,
    ast.Global: _outer,
    ast.Nonlocal: _outer,
    ast.If: _if_alone,
    ast.Match: _match,
    ast.For: _for,
    ast.While: _while,
    ast.Break: _break,
    ast.Continue: _continue,
    ast.Return: _return,
}
