"""Inlining of funcs, arguments by value."""

from __future__ import annotations

import ast
import copy
import functools
import types
from typing import Any

from dsim.diagnostics import KernelSyntaxError
from dsim.frontend.control.exits import bound
from dsim.frontend.frames.frame import Frame
from dsim.frontend.frames.scope import DRAWS, RESULT, RETURNED
from dsim.frontend.inlining import callables, custom_derivatives, derive, recursion
from dsim.frontend.inlining.callables import Plain
from dsim.frontend.inlining.signatures import annotated, arguments_of, bind, declared_result, every, typed
from dsim.frontend.source.paths import Path, Surroundings
from dsim.frontend.source.problems import RefusedError
from dsim.frontend.source.source import FunctionText, read
from dsim.frontend.values.structure import same
from dsim.frontend.values.values import (
    LocalFunc,
    Opaque,
    Partial,
    Poison,
    Value,
)
from dsim.ir.build import TRUE


def invoke(
    f: Frame, function: Any, args: list[Value], keywords: dict[str, Value], node: ast.AST, hint: str = "t"
) -> Value:
    """The value of ``function(*args, **keywords)``, its body lowered here."""
    if isinstance(function, functools.partial):
        function = callables.partial(f, function, None, node)
    if isinstance(function, Partial):
        given = {**function.keywords, **keywords}
        return invoke(f, function.function, [*function.args, *args], given, node, hint)
    if isinstance(function, LocalFunc):
        inner = _local_frame(f, function, node)
        inner.result_hint = hint if hint != "t" else "result"
        return _inlined(f, inner, function, dict(function.annotations), args, keywords, node)
    function = callables.of(function)  # a derivative made in Python may be of a plain function
    mode = getattr(function, "__dsim_derivative__", None)
    if mode is not None:
        return derive.call(f, mode, args, keywords, node)
    return _of_python(f, function, args, keywords, node, hint)


def _of_python(
    f: Frame, function: Any, args: list[Value], keywords: dict[str, Value], node: ast.AST, hint: str
) -> Value:
    """The value of a call of a func or a plain function."""
    python, owner = _unbound(f, function)
    inner = _frame(f, python, node, hint, getattr(function, "path", None))
    if isinstance(function, Plain):
        inner.plain = True
        return _inlined(f, inner, python, {}, [*owner, *args], keywords, node)
    types_, args = annotated(inner, python), [*owner, *args]
    rules = getattr(function, "__dsim_rules__", None)
    if rules is None:
        return _inlined(f, inner, python, types_, args, keywords, node)
    given = arguments_of(f, inner, python, args, keywords, node)
    called = custom_derivatives.Called(
        inner.name,
        rules,
        tuple(o.value for o in owner),
        tuple(given)[len(owner) :],
        [typed(f, inner, n, v, types_.get(n)) for n, v in given.items()][len(owner) :],
        lambda values: _inlined(f, inner, python, types_, [*owner, *values], {}, node),
        inner.text.name_span(),
    )
    return custom_derivatives.call(f, called, node, hint)


def invoke_method(
    f: Frame,
    function: Any,
    args: list[Value],
    keywords: dict[str, Value],
    node: ast.AST,
    hint: str,
    kept: frozenset[str] = frozenset(),
) -> tuple[Value, dict[str, Value]]:
    """The value of a call of a struct's method, and afterwards the struct and the parameters `kept`.

    The struct is the first of `args`.
    """
    own = owner_of(function)
    if getattr(function, "__dsim_rules__", None) is not None:
        return invoke(f, function, [f.load(args[0]), *args[1:]], keywords, node, hint), {own: args[0]}
    return invoke_keeping(f, function, args, keywords, node, hint, kept | {own})


def owner_of(method: Any) -> str:
    """The parameter of a struct's method that is the struct: the first."""
    return method.__dsim_func__.__code__.co_varnames[0]


def invoke_keeping(
    f: Frame,
    function: Any,
    args: list[Value],
    keywords: dict[str, Value],
    node: ast.AST,
    hint: str,
    kept: frozenset[str],
) -> tuple[Value, dict[str, Value]]:
    """The value of a call, and the values of the parameters `kept` afterwards."""
    python, owner = _unbound(f, function)
    inner = _frame(f, python, node, hint)
    inner.kept, inner.plain = kept, isinstance(function, Plain)
    types_ = {} if inner.plain else annotated(inner, python)
    value = _inlined(f, inner, python, types_, [*owner, *args], keywords, node)
    return value, {name: inner.scope.values[name] for name in kept}


def _unbound(f: Frame, function: Any) -> tuple[types.FunctionType, list[Value]]:
    """The Python function of a func, and the object that it is a method of, if it is one."""
    python = function.__dsim_func__
    if not isinstance(python, types.MethodType):
        return python, []
    held = python.__self__
    path = f.c.captures.rooted(Path(type(held).__name__, lambda: held), id(held), python.__name__)
    return python.__func__, [Opaque(held, path)]


def _frame(f: Frame, python: types.FunctionType, node: ast.AST, hint: str, path: Path | None = None) -> Frame:
    """The frame in which the body of `python`, called at `node`, is lowered."""
    try:
        text = read(python)
    except KernelSyntaxError as error:
        found = error.diagnostics[0]
        f.refuse(found.code, found.message, node, help=found.help)
    inner = Frame(f.c, text, Surroundings(python, path), (*f.inlined, f.span(node)))
    inner.result_hint = hint if hint != "t" else "result"
    return inner


def _local_frame(f: Frame, function: LocalFunc, node: ast.AST) -> Frame:
    outer = function.frame
    text = FunctionText(outer.text.source, function.node, outer.text.shift)
    around = copy.copy(outer.surroundings)
    around.local = frozenset(bound(function.node.body)) | {a.arg for a in every(function.node.args)}
    inner = Frame(f.c, text, around, (*f.inlined, f.span(node)))
    inner.closure, inner.plain = function, outer.plain
    return inner


def _inlined(
    f: Frame,
    inner: Frame,
    key: Any,
    types_: dict[str, Any],
    args: list[Value],
    keywords: dict[str, Value],
    node: ast.AST,
) -> Value:
    given = tuple(map(recursion.known, (*args, *keywords.values())))
    recursion.checked(f, inner.name, key, given, node)
    inner.kind = "func"
    inner.static = f.static
    inner.returns = declared_result(inner, types_.get("return"), inner.text.node)
    f.c.active = (*f.c.active, (key, given))
    try:
        bind(f, inner, key, types_, args, keywords, node)
        inner.scope.values[DRAWS] = f.scope.values[DRAWS]
        before = callables.changeable(inner)
        inner.kept |= before.keys()
        inner.run(inner.text.node.body, inner.kept)
    finally:
        f.c.active = f.c.active[:-1]
    f.scope.values[DRAWS] = inner.scope.values[DRAWS]
    callables.refuse_changed(f, inner, before, node)
    return _result(f, inner, node)


def _result(f: Frame, inner: Frame, node: ast.AST) -> Value:
    value = inner.scope.values.get(RESULT)
    if isinstance(value, Poison):
        raise RefusedError
    if value is not None and not same(inner.scope.values[RETURNED], TRUE):
        last = inner.text.node.body[-1]
        help = "add `case _:` with a `return`" if isinstance(last, ast.Match) else "end it with a `return`"
        f.refuse("return", f"`{inner.name}` does not return a value on every path", node, help=help)
    return value
