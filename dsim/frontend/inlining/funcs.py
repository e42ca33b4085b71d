"""Inlining of funcs, arguments by value."""

from __future__ import annotations

import ast
import copy
import functools
import types
from dataclasses import replace
from typing import Any, get_args, get_origin

from dsim.diagnostics import KernelSyntaxError
from dsim.frontend.control.exits import assigned
from dsim.frontend.expressions import records
from dsim.frontend.expressions.local_values import buffered, fixed
from dsim.frontend.expressions.structs import as_type
from dsim.frontend.frames.frame import Frame
from dsim.frontend.frames.names import imported
from dsim.frontend.frames.scope import DRAWS, RESULT, RETURNED
from dsim.frontend.inlining import callables, derive, own, recursion
from dsim.frontend.inlining.callables import Plain
from dsim.frontend.source.captures import Path, Surroundings
from dsim.frontend.source.lowered import AnyReturn, OneReturn, Returns, SeveralReturns, StructReturns
from dsim.frontend.source.problems import RefusedError
from dsim.frontend.source.source import FunctionText, read
from dsim.frontend.values import elementary
from dsim.frontend.values.operators import operand
from dsim.frontend.values.structure import same, scalars
from dsim.frontend.values.types import (
    ArrayType,
    array_type,
    describe_array,
    is_template,
    matrix_type,
    scalar_type,
    struct_type,
)
from dsim.frontend.values.values import (
    FieldValue,
    Keywords,
    LocalFunc,
    Mat,
    Opaque,
    Partial,
    Poison,
    Value,
    describe,
    is_scalar,
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
        return _inlined(f, inner, function.node, {}, args, keywords, node)
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
    given = _given(f, inner, python, args, keywords, node)
    called = own.Called(
        inner.name,
        rules,
        tuple(o.value for o in owner),
        tuple(given)[len(owner) :],
        [_typed(f, inner, n, v, types_.get(n)) for n, v in given.items()][len(owner) :],
        lambda values: _inlined(f, inner, python, types_, [*owner, *values], {}, node),
        inner.text.name_span(),
    )
    return own.call(f, called, node, hint)


def invoke_method(
    f: Frame,
    function: Any,
    owner: Value,
    args: list[Value],
    keywords: dict[str, Value],
    node: ast.AST,
    hint: str,
) -> tuple[Value, Value]:
    """The value of a call of a struct's method, and the struct afterwards."""
    if getattr(function, "__dsim_rules__", None) is not None:
        return invoke(f, function, [f.load(owner), *args], keywords, node, hint), owner
    kept = function.__dsim_func__.__code__.co_varnames[0]
    value, after = invoke_keeping(f, function, [owner, *args], keywords, node, hint, frozenset({kept}))
    return value, after[kept]


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
        text = text_of(f, python)
    except KernelSyntaxError as error:
        found = error.diagnostics[0]
        f.refuse(found.code, found.message, node, help=found.help)
    inner = Frame(f.c, text, Surroundings(python, path), (*f.inlined, f.span(node)))
    inner.result_hint = hint if hint != "t" else "result"
    return inner


def text_of(f: Frame, python: types.FunctionType) -> FunctionText:
    """The text of a function, read once in a compilation."""
    if python not in f.c.texts:
        f.c.texts[python] = read(python)
    return f.c.texts[python]


def _local_frame(f: Frame, function: LocalFunc, node: ast.AST) -> Frame:
    outer = function.frame
    text = FunctionText(outer.text.source, function.node, outer.text.shift)
    around = copy.copy(outer.surroundings)
    around.local = frozenset(assigned(function.node.body)) | {a.arg for a in every(function.node.args)}
    inner = Frame(f.c, text, around, (*f.inlined, f.span(node)))
    inner.outer, inner.plain = outer, outer.plain
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
        _bind(f, inner, key, types_, args, keywords, node)
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
        f.refuse(
            "return",
            f"`{inner.name}` does not return a value on every path",
            node,
            help="end it with a `return`",
        )
    return value


# ------------------------------------------------------------------ parameters


def annotated(f: Frame, python: types.FunctionType) -> dict[str, Any]:
    """The annotations of the parameters and the result; string annotations are evaluated."""
    around = {name: path.read() for name, path in f.surroundings.closure().items()}
    found: dict[str, Any] = {}
    for name, annotation in python.__annotations__.items():
        found[name] = _evaluated(annotation, python.__globals__, around)
    return found


def _evaluated(annotation: Any, module: dict[str, Any], around: dict[str, Any]) -> Any:
    if not isinstance(annotation, str):
        return annotation
    try:
        return eval(annotation, module, around)  # the user's own text, as `typing.get_type_hints` does it
    except (NameError, AttributeError):
        return None


def declared_result(f: Frame, annotation: Any, node: ast.FunctionDef) -> AnyReturn | None:
    """The declared result type of a function, if any."""
    if annotation is None:
        return None
    several = annotation if isinstance(annotation, tuple) else ()
    if get_origin(annotation) is tuple:
        several = get_args(annotation)
    parts = [_one_result(f, a) for a in several] if several else [_one_result(f, annotation)]
    found = [p for p in parts if p is not None]
    if len(found) == len(parts):
        return SeveralReturns(tuple(found)) if several else found[0]
    if f.kind == "kernel":
        at = node.returns or node
        f.refuse(
            "return",
            "a kernel returns scalars, vectors, matrices and structs",
            at,
            help="for example `-> ds.f32`, or `-> tuple[ds.f32, ds.i32]`",
        )
    return None


def _one_result(f: Frame, annotation: Any) -> OneReturn | None:
    scalar, vector = scalar_type(annotation, f.emit.settings), matrix_type(annotation)
    if scalar is not None:
        return Returns(scalar)
    if vector is not None:
        entry = scalar_type(vector.dtype, f.emit.settings)
        assert entry is not None
        return Returns(entry, vector.shape)
    kind = struct_type(annotation)
    return None if kind is None else StructReturns(kind)


def _given(
    f: Frame, inner: Frame, python: Any, args: list[Value], keywords: dict[str, Value], node: ast.AST
) -> dict[str, Value]:
    """The value of every parameter, in the order of the signature."""
    spec = inner.text.node.args
    names = [a.arg for a in (*spec.posonlyargs, *spec.args)]
    named = {a.arg for a in (*spec.args, *spec.kwonlyargs)}
    given = dict(zip(names, args, strict=False))
    more: dict[str, Value] = {}
    if len(args) > len(names) and spec.vararg is None:
        f.refuse("argument", f"`{inner.name}` takes {_many(len(names))}, got {len(args)}", node)
    for name, value in keywords.items():
        if name in named and name not in given:
            given[name] = value
        elif spec.kwarg is not None and name not in named:
            more[name] = value
        else:
            f.refuse("argument", f"`{inner.name}` got an unexpected or repeated argument `{name}`", node)
    for name, value in _defaults(inner, python, names).items():
        given.setdefault(name, value)
    if spec.vararg is not None:
        given[spec.vararg.arg] = tuple(args[len(names) :])
    if spec.kwarg is not None:
        given[spec.kwarg.arg] = Keywords(more)
    order = [a.arg for a in every(spec)]
    missing = [n for n in order if n not in given]
    if missing:
        f.refuse("argument", f"`{inner.name}` lacks the argument `{missing[0]}`", node)
    return {name: given[name] for name in order}


def every(spec: ast.arguments) -> list[ast.arg]:
    """All parameters, in the order of the signature."""
    found = (*spec.posonlyargs, *spec.args, spec.vararg, *spec.kwonlyargs, spec.kwarg)
    return [a for a in found if a is not None]


def _bind(
    f: Frame,
    inner: Frame,
    python: Any,
    types_: dict[str, Any],
    args: list[Value],
    keywords: dict[str, Value],
    node: ast.AST,
) -> None:
    changed = set(assigned(inner.text.node.body))
    for name, value in _given(f, inner, python, args, keywords, node).items():
        _parameter(f, inner, name, value, types_.get(name), name in changed, node)


def _many(count: int) -> str:
    return "1 argument" if count == 1 else f"{count} arguments"


def _defaults(inner: Frame, python: Any, names: list[str]) -> dict[str, Value]:
    if isinstance(python, ast.FunctionDef):
        spec, outer = python.args, inner.outer
        assert outer is not None
        found = dict(zip(names[len(names) - len(spec.defaults) :], spec.defaults, strict=True))
        found |= {a.arg: d for a, d in zip(spec.kwonlyargs, spec.kw_defaults, strict=True) if d is not None}
        return {name: outer.value(n) for name, n in found.items()}
    values = python.__defaults__ or ()
    found = dict(zip(names[len(names) - len(values) :], values, strict=True)) | (python.__kwdefaults__ or {})
    return {name: imported(inner, v, _default_path(python, v), inner.text.node) for name, v in found.items()}


def _default_path(python: types.FunctionType, value: object) -> Path | None:
    """The path by which each launch compares a default: a list may change in place, a number cannot."""
    return None if isinstance(value, int | float | str | None) else Path(python.__name__, lambda: value)


def _parameter(
    f: Frame, inner: Frame, name: str, value: Value, annotation: Any, changed: bool, node: ast.AST
) -> None:
    """Binds one parameter in the func's scope."""
    if isinstance(annotation, type) and issubclass(annotation, object) and is_template(annotation):
        annotation = annotation()
    if is_template(annotation):
        inner.templates.add(name)
    if is_template(annotation) and changed and scalars(value) and name not in inner.kept:
        help = "return the new value instead"
        f.refuse("argument", f"`{inner.name}` assigns to its template parameter `{name}`", node, help=help)
    value = _typed(f, inner, name, value, annotation)
    if changed and (scalars(value) or isinstance(value, list)):
        value = fixed(f, name, value, node)
    if isinstance(value, Mat) and (inner.name, name) in f.c.buffered:
        value = buffered(f, name, value)
    inner.scope.bind(name, value, None)


def _check_array(f: Frame, inner: Frame, name: str, value: Value, wanted: ArrayType) -> None:
    settings = f.emit.settings
    takes = f"`{inner.name}` takes {wanted.describe(settings)} as `{name}`"
    if not isinstance(value, FieldValue):
        f.emit.refuse("type", f"{takes}, got {describe(value)}")
    given = value.field
    if wanted.needs_grad is False and not getattr(given.root, "constant", False):
        advice = f"write `needs_grad=False` where the kernel takes `{value.name}`, or use `stop_grad`"
        f.emit.refuse(
            "type", f"{takes} with `needs_grad=False`, but `{value.name}` is declared without it", help=advice
        )
    if not wanted.fits(given.dtype, tuple(given.shape), tuple(given.entry_shape), settings):
        f.emit.refuse("type", f"{takes}, got {describe_array(given.dtype, given.shape, given.entry_shape)}")


def _typed(f: Frame, inner: Frame, name: str, value: Value, annotation: Any) -> Value:
    """`value` converted to a parameter's annotated type; annotations that are not types have no effect."""
    array = array_type(annotation)
    if array is not None:
        _check_array(f, inner, name, value, array)
        return replace(value, clamped=array.clamped)
    to, vector = scalar_type(annotation, f.emit.settings), matrix_type(annotation)
    if to is not None:
        if not is_scalar(value):
            f.emit.refuse("type", f"`{inner.name}` takes a scalar `{name}`, got {describe(value)}")
        f.emit.warn_unfit(value, to, f"`{name}` of `{inner.name}`")
        return f.emit.atom(value, to, name)
    if vector is not None:
        given = operand(f.emit, value)
        if not isinstance(given, Mat) or given.shape != vector.shape:
            f.emit.refuse(
                "shape",
                f"`{inner.name}` takes {describe(Mat(vector.shape, ()))} as `{name}`, got {describe(value)}",
            )
        entry = scalar_type(vector.dtype, f.emit.settings)
        assert entry is not None
        return elementary.cast(f.emit, given, entry, name)
    kind = struct_type(annotation)
    if kind is not None:
        return as_type(f, value, kind, name)
    if records.is_record(annotation):
        records.check(f, inner.name, name, value, annotation)
    if isinstance(value, list) and value and all(is_scalar(v) or isinstance(v, Mat | list) for v in value):
        return operand(f.emit, value)
    return value
