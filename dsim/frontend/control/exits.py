"""Ways out of loops and functions, and which names statements assign."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from typing import NoReturn

from dsim.frontend.expressions.elements import cast
from dsim.frontend.expressions.structs import as_type
from dsim.frontend.expressions.updates import ATOMICS
from dsim.frontend.frames.frame import Frame
from dsim.frontend.frames.scope import LIVE, RESULT, RETURNED
from dsim.frontend.source.lowered import AnyReturn, OneReturn, Returns, SeveralReturns, StructReturns
from dsim.frontend.values.operators import operand
from dsim.frontend.values.structure import scalars
from dsim.frontend.values.values import Mat, StructValue, Value, describe, describe_shape, is_scalar
from dsim.ir.build import FALSE, TRUE


def leaves(statements: Sequence[ast.stmt]) -> bool:
    """Whether the end of `statements` is never reached, judged by their syntax."""
    if not statements:
        return False
    last = statements[-1]
    if isinstance(last, ast.Match):
        takes_all = any(c.guard is None and _irrefutable(c.pattern) for c in last.cases)
        return takes_all and all(leaves(c.body) for c in last.cases)
    if isinstance(last, ast.Return | ast.Break | ast.Continue):
        return True
    return isinstance(last, ast.If) and leaves(last.body) and leaves(last.orelse)


def breaks(statements: Iterable[ast.stmt]) -> bool:
    """Whether a ``break`` in `statements` leaves the loop that they are the body of."""
    return any(isinstance(s, ast.Break) or any(map(breaks, _branches(s))) for s in statements)


def _branches(s: ast.stmt) -> list[list[ast.stmt]]:
    """The statements of the branches of `s`."""
    if isinstance(s, ast.Match):
        return [c.body for c in s.cases]
    return [s.body, s.orelse] if isinstance(s, ast.If) else []


def _irrefutable(pattern: ast.pattern) -> bool:
    """Whether `pattern` fits any value, judged by its syntax."""
    if isinstance(pattern, ast.MatchOr):
        return any(map(_irrefutable, pattern.patterns))
    return isinstance(pattern, ast.MatchAs) and (pattern.pattern is None or _irrefutable(pattern.pattern))


def leave_loop(f: Frame, word: str) -> None:
    """``break`` and ``continue``; Python's parser ensures that there is a loop."""
    if word == "break":
        f.scope.values[f.loops[-1]] = FALSE
    f.scope.values[LIVE] = FALSE


def leave_function(f: Frame, s: ast.Return) -> None:
    """``return value``: stores the value, and disables what follows."""
    value = None if s.value is None else f.value(s.value, f.result_hint)
    if value is not None:
        value = _returned(f, value, s)
    elif f.returns is not None:
        f.refuse("return", f"this returns nothing, but `{f.name}` declares {_promise(f.returns)}", s)
    give(f, value)


def give(f: Frame, value: Value) -> None:
    """Sets the function's result to `value`."""
    f.scope.values[RESULT] = value
    f.scope.values[RETURNED] = TRUE
    f.scope.values[LIVE] = FALSE
    for go in f.loops:
        f.scope.values[go] = FALSE


def _promise(r: AnyReturn) -> str:
    if isinstance(r, SeveralReturns):
        return f"{len(r.parts)} values: {', '.join(map(_promise, r.parts))}"
    if isinstance(r, StructReturns):
        return describe(StructValue(dict(r.kind.members), r.kind))
    return f"{describe_shape(r.shape)} of {r.dtype}" if r.shape else f"an {r.dtype}"


def _returned(f: Frame, value: Value, s: ast.Return) -> Value:
    """`value`, converted to the annotated result type."""
    if f.returns is None and f.kind == "kernel":
        help = f"annotate it: `{f.name}(…) -> ds.f32`"
        f.refuse("return", f"the kernel `{f.name}` returns a value but declares no type", s, help=help)
    if not isinstance(f.returns, SeveralReturns):
        return _one(f, value, f.returns, s)
    parts = f.returns.parts
    if not isinstance(value, tuple | list) or len(value) != len(parts):
        _refuse_kind(f, value, f.returns, s)
    return tuple(_one(f, v, r, s) for v, r in zip(value, parts, strict=True))


def _one(f: Frame, value: Value, r: OneReturn | None, s: ast.Return) -> Value:
    if isinstance(value, list) and scalars(value):
        value = operand(f.emit, value)
    if r is None:
        return value
    if isinstance(r, StructReturns):
        if not isinstance(value, StructValue):
            _refuse_kind(f, value, r, s)
        return as_type(f, value, r.kind, f"the result of {f.name}")
    if isinstance(value, tuple):
        value = operand(f.emit, value) if r.shape else value
    return _typed(f, value, r, s)


def _refuse_kind(f: Frame, value: Value, r: AnyReturn, s: ast.Return) -> NoReturn:
    f.refuse("return", f"this returns {describe(value)}, but `{f.name}` declares {_promise(r)}", s)


def _typed(f: Frame, value: Value, r: Returns, s: ast.Return) -> Value:
    shape = value.shape if isinstance(value, Mat) else ()
    if not (is_scalar(value) or isinstance(value, Mat)) or shape != r.shape:
        _refuse_kind(f, value, r, s)
    name = f"the result of {f.name}"
    if isinstance(value, Mat):
        return Mat(value.shape, tuple(cast(f, x, r.dtype, name) for x in value.entries))
    return cast(f, value, r.dtype, name)


# ------------------------------------------------------------------ what is assigned


def assigned(statements: Iterable[ast.stmt]) -> list[str]:
    """The names that `statements` may change, in order of first change; not those of nested functions."""
    found: dict[str, None] = {}
    for s in statements:
        _assigned(s, found)
    return list(found)


def _assigned(node: ast.AST, found: dict[str, None]) -> None:
    if isinstance(node, ast.FunctionDef):
        found.setdefault(node.name)
        return
    name = stored(node)
    if name is not None:
        found.setdefault(name)
    elif isinstance(node, ast.Subscript | ast.Attribute) and isinstance(node.ctx, ast.Store):
        _root(node, found)
    elif isinstance(node, ast.Call):
        _changed_by_call(node, found)
    for child in ast.iter_child_nodes(node):
        _assigned(child, found)


def _root(node: ast.expr, found: dict[str, None]) -> None:
    while isinstance(node, ast.Subscript | ast.Attribute):
        node = node.value
    if isinstance(node, ast.Name):
        found.setdefault(node.id)


def stored(node: ast.AST) -> str | None:
    """The name that `node` binds: as a target, or as a part of a pattern."""
    if isinstance(node, ast.Name):
        return node.id if isinstance(node.ctx, ast.Store) else None
    if isinstance(node, ast.MatchMapping):
        return node.rest
    return node.name if isinstance(node, ast.MatchAs | ast.MatchStar) else None


def bound(statements: Iterable[ast.stmt]) -> list[str]:
    """The names that `statements` bind, which makes them locals of their function."""
    found: dict[str, None] = {}
    for s in statements:
        _bound(s, found)
    return list(found)


def _bound(node: ast.AST, found: dict[str, None]) -> None:
    if isinstance(node, ast.FunctionDef):
        found.setdefault(node.name)
    if isinstance(node, ast.FunctionDef | ast.Lambda | ast.ListComp):
        return
    name = stored(node)
    if name is not None:
        found.setdefault(name)
    for child in ast.iter_child_nodes(node):
        _bound(child, found)


def _changed_by_call(node: ast.Call, found: dict[str, None]) -> None:
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    if name in ATOMICS and node.args:
        _root(node.args[0], found)
    if name == "fill" and isinstance(node.func, ast.Attribute):
        _root(node.func.value, found)
