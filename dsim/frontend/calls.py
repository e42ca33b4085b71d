"""Calls: of builtins, types, methods and funcs."""

from __future__ import annotations

import ast
import inspect
import types
from collections.abc import Callable, Sized
from typing import Any

from dsim.frontend import (
    advice,
    elementary,
    field_methods,
    hints,
    loop_ranges,
    loops,
    matrices,
    python_calls,
    python_operators,
    randomness,
    references,
    struct_methods,
    structs,
    updates,
)
from dsim.frontend.builtins import builtin
from dsim.frontend.captures import is_function, is_kernel, is_layout_node
from dsim.frontend.derive import Derivative
from dsim.frontend.elements import store
from dsim.frontend.frame import Frame
from dsim.frontend.funcs import LocalFunc
from dsim.frontend.items import items
from dsim.frontend.messages import report_print
from dsim.frontend.names import suggestion
from dsim.frontend.operators import operand
from dsim.frontend.static import evaluate, static_assert
from dsim.frontend.subscripts import root_local
from dsim.frontend.types import matrix_type, scalar_type, struct_type
from dsim.frontend.values import (
    Element,
    Field,
    Mat,
    Method,
    Opaque,
    Struct,
    StructElement,
    StructField,
    Value,
    describe,
    is_number,
    is_scalar,
    listed,
)


def call(f: Frame, node: ast.Call, used: bool, hint: str = "t") -> Value:
    """The value of a call; `used` tells whether anybody wants it."""
    callee = f.place(node.func)
    if isinstance(callee, Method):
        return _method(f, callee, node, hint)
    if isinstance(callee, LocalFunc):
        return f.c.language.invoke(f, callee, *arguments(f, node), node, hint)
    if not isinstance(callee, Opaque):
        f.refuse("unknown-function", f"{describe(callee)} cannot be called", node.func)
    name = builtin(callee.value)
    if name is not None and name in _BY_SYNTAX:
        return _BY_SYNTAX[name](f, name, node, used)
    if name is None and is_function(callee.value):
        if callee.path is not None:
            f.c.captures.function(callee.path, callee.value)
        return references.call(f, callee.value, node, hint, arguments)
    args, keywords = arguments(f, node)
    if name is not None:
        return _builtin(f, name, args, keywords, node, hint)
    return _object(f, callee, args, keywords, node, hint)


def arguments(f: Frame, node: ast.Call) -> tuple[list[Value], dict[str, Value]]:
    """The values of the arguments, by position and by keyword."""
    args: list[Value] = []
    for n in node.args:
        if isinstance(n, ast.Starred):
            args.extend(items(f, f.value(n.value), n.value))
        else:
            args.append(f.value(n))
    keywords: dict[str, Value] = {}
    for k in node.keywords:
        if k.arg is None:
            f.refuse("syntax", "kernels have no `**` in calls", k.value, help="write the arguments out")
        keywords[k.arg] = f.value(k.value)
    return args, keywords


# ------------------------------------------------------------------ builtins


def _builtin(
    f: Frame, name: str, args: list[Value], keywords: dict[str, Value], node: ast.Call, hint: str
) -> Value:
    if name == "Struct":
        return structs.literal(f, args, keywords, node)
    if name in matrices.MAKERS:
        return _checked(f, name, node, matrices.MAKERS[name], *args, **keywords)
    if name in _BY_VALUE:
        return _checked(f, name, node, _BY_VALUE[name], hint, *args, **keywords)
    if name in matrices.METHODS and name not in elementary.FUNCTIONS and args:
        owner = operand(f.emit, args[0])
        if not isinstance(owner, Mat):
            f.refuse("shape", f"`{name}` needs a vector or a matrix, got {describe(owner)}", node)
        return _checked(f, name, node, matrices.METHODS[name], owner, hint, *args[1:], **keywords)
    if name not in elementary.FUNCTIONS:
        f.refuse("unknown-function", f"kernels have no `{name}`", node.func)
    return _elementary(f, name, args, keywords, node, hint)


def _elementary(
    f: Frame, name: str, args: list[Value], keywords: dict[str, Value], node: ast.Call, hint: str
) -> Value:
    if name in elementary.STEPS and len(args) + len(keywords) == 2:  # floor(x, i32)
        to = matrices.dtype(f, keywords.get("dtype", args[-1]))
        assert to is not None
        return elementary.cast(f.emit, elementary.FUNCTIONS[name](f.emit, args[0]), to, hint)
    if keywords:
        f.refuse("argument", f"`{name}` takes no keywords", node)
    elementary.check_count(f.emit, name, len(args))
    if name == "select" and isinstance(args[1], Struct):
        return structs.select(f, *args)
    return elementary.FUNCTIONS[name](f.emit, *args, hint=hint)


def _checked(
    f: Frame, name: str, node: ast.AST, run: Callable[..., Value], *args: Any, **keywords: Any
) -> Value:
    """``run(f, *args)``, the arguments checked against its signature first."""
    try:
        inspect.signature(run).bind(f, *args, **keywords)
    except TypeError as error:
        f.refuse("argument", f"wrong arguments for `{name.removeprefix('int_')}`: {error}", node)
    return run(f, *args, **keywords)


def _cast(f: Frame, hint: str, value: Value, dtype: Value) -> Value:
    to = matrices.dtype(f, dtype)
    assert to is not None
    return elementary.cast(f.emit, value, to, hint)


def _bit_cast(f: Frame, hint: str, value: Value, dtype: Value) -> Value:
    to = matrices.dtype(f, dtype)
    assert to is not None
    atom = f.emit.number(value)
    if to.bits != atom.type.bits:
        f.emit.refuse("type", f"`bit_cast` needs types of one width, got {atom.type} and {to}")
    return f.emit.let("bit_cast", atom, type=to, hint=hint)


def _to(kind: type) -> Callable[..., Value]:
    def convert(f: Frame, hint: str, value: Value = 0) -> Value:
        if is_number(value) or (isinstance(value, str) and kind is float):  # float("inf")
            return kind(value)
        to = scalar_type(kind, f.emit.settings)
        assert to is not None
        return elementary.cast(f.emit, value, to, hint)

    return convert


def _rounded(step: str) -> Callable[..., Value]:
    """Python's `round`, `math.floor`, `math.ceil`: integers come out."""

    def convert(f: Frame, hint: str, value: Value) -> Value:
        return elementary.cast(
            f.emit, elementary.FUNCTIONS[step](f.emit, value), f.emit.settings.default_ip, hint
        )

    return convert


def _len(f: Frame, hint: str, value: Value) -> Value:
    if isinstance(value, Mat):
        return value.shape[0]
    if isinstance(value, tuple | list):
        return len(value)
    if isinstance(value, Struct):
        return len(value.members)
    if isinstance(value, Opaque) and isinstance(value.value, Sized):
        if value.path is not None:
            f.c.captures.length(value.path, value.value)
        return len(value.value)
    help = "use its `shape`" if type(value).__name__ == "Field" else ""
    f.emit.refuse("type", f"{describe(value)} has no length", help=help)


def _random(f: Frame, hint: str, dtype: Value = None) -> Value:
    return randomness.random(f, matrices.dtype(f, dtype) or f.emit.settings.default_fp, hint)


def _randn(f: Frame, hint: str, dtype: Value = None) -> Value:
    return randomness.normal(f, matrices.dtype(f, dtype) or f.emit.settings.default_fp, hint)


def _zip(f: Frame, hint: str, *args: Value, strict: Value = False) -> Value:
    columns = [items(f, a, ast.Constant(None)) for a in args]
    lengths = sorted({len(c) for c in columns})
    if strict is True and len(lengths) > 1:
        f.emit.refuse(
            "argument", f"`zip` is to be strict, but goes through {listed(map(str, lengths))} items"
        )
    return [tuple(row) for row in zip(*columns, strict=False)]


def _enumerate(f: Frame, hint: str, value: Value, start: Value = 0) -> Value:
    return [(i, v) for i, v in enumerate(items(f, value, ast.Constant(None)), start)]


def _reversed(f: Frame, hint: str, value: Value) -> Value:
    return items(f, value, ast.Constant(None))[::-1]


_BY_VALUE: dict[str, Callable[..., Value]] = {
    "cast": _cast,
    "bit_cast": _bit_cast,
    "int": _to(int),
    "float": _to(float),
    "bool": _to(bool),
    "int_round": _rounded("round"),
    "int_floor": _rounded("floor"),
    "int_ceil": _rounded("ceil"),
    "len": _len,
    "random": _random,
    "randn": _randn,
    "zip": _zip,
    "enumerate": _enumerate,
    "reversed": _reversed,
    "range": loop_ranges.counted,
    "ndrange": loop_ranges.grid,
    "grouped": loop_ranges.grouped,
    "assume_in_range": hints.assume_in_range,
    "loop_unique": hints.loop_unique,
}


def _static(f: Frame, name: str, node: ast.Call, used: bool) -> Value:
    return evaluate(f, node)


def _static_assert(f: Frame, name: str, node: ast.Call, used: bool) -> Value:
    static_assert(f, node)


def _print(f: Frame, name: str, node: ast.Call, used: bool) -> Value:
    report_print(f, node)


def _loop_config(f: Frame, name: str, node: ast.Call, used: bool) -> Value:
    loop_ranges.configure(f, node)


def _atomic(f: Frame, name: str, node: ast.Call, used: bool) -> Value:
    return updates.atomic(f, name, node, used)


def _derivative(mode: str) -> Callable[..., Value]:
    """``forward(f)`` and ``grad(f)`` inside a kernel."""

    def make(f: Frame, hint: str, function: Value) -> Value:
        value = function.value if isinstance(function, Opaque) else None
        if not is_function(value):
            name = "forward" if mode == "jvp" else "grad"
            f.emit.refuse("argument", f"`{name}` takes a func, got {describe(function)}")
        return Opaque(Derivative((mode, value)))

    return make


_BY_VALUE |= {"forward": _derivative("jvp"), "grad": _derivative("vjp"), **python_operators.FUNCTIONS}


_BY_SYNTAX: dict[str, Callable[[Frame, str, ast.Call, bool], Value]] = {
    "static": _static,
    "static_assert": _static_assert,
    "static_print": hints.static_print,
    **dict.fromkeys(("block_local", "cache_read_only", "no_activate"), hints.about_fields),
    "print": _print,
    "loop_config": _loop_config,
    **dict.fromkeys(updates.ATOMICS, _atomic),
}


# ------------------------------------------------------------------ methods, types, funcs


def _method(f: Frame, method: Method, node: ast.Call, hint: str) -> Value:
    _refuse_kept(f, method, node)
    args, keywords = arguments(f, node)
    if isinstance(method.owner, Struct | StructElement):
        return struct_methods.call(f, method, args, keywords, node, hint)
    if field_methods.is_one(method):
        return field_methods.call(f, method, args, node)
    if method.name == "fill":
        return _fill(f, method, args, node)
    known = matrices.METHODS.get(method.name)
    if known is None:
        help = suggestion(method.name, [*matrices.METHODS, "fill"])
        f.refuse(
            "unknown-attribute", f"{describe(method.owner)} has no method `{method.name}`", node, help=help
        )
    owner = f.load(method.owner)
    if not isinstance(owner, Mat):
        if method.name == "cast":
            return _checked(f, "cast", node, _cast, hint, owner, *args)
        f.refuse("unknown-attribute", f"{describe(owner)} has no method `{method.name}`", node)
    return _checked(f, method.name, node, known, owner, hint, *args, **keywords)


def _refuse_kept(f: Frame, method: Method, node: ast.Call) -> None:
    """A method that may change its owner knows it by its place: it cannot be kept or passed on."""
    changes = isinstance(method.owner, Struct) or (method.name == "fill" and isinstance(method.owner, Mat))
    if changes and getattr(node.func, "value", None) is not method.node:
        f.refuse(
            "syntax",
            f"the method `{method.name}` can only be called where it is named",
            node,
            help=f"write `….{method.name}(…)`, with what it belongs to",
        )


def _fill(f: Frame, method: Method, args: list[Value], node: ast.Call) -> Value:
    if len(args) != 1 or not (is_scalar(args[0]) or isinstance(method.owner, Field | StructField)):
        f.refuse("argument", "`fill` takes one scalar", node)
    if isinstance(method.owner, Element):
        store(f, method.owner, args[0])
        return
    if isinstance(method.owner, Field | StructField):
        loops.fill(f, method.owner, args[0])
        return
    if root_local(f, method.node, Struct) is None and not (
        root_local(f, method.node) is not None and isinstance(method.node, ast.Name)
    ):
        f.refuse("type", "only a local or an element of a field can be filled", node)
    f.c.language.assign(f, method.node, args[0])


def _object(
    f: Frame, callee: Opaque, args: list[Value], keywords: dict[str, Value], node: ast.Call, hint: str
) -> Value:
    to = scalar_type(callee, f.emit.settings)
    if to is not None:
        if len(args) != 1 or keywords:
            f.refuse("argument", f"a cast to {to} takes one value, got {len(args)}", node)
        return elementary.cast(f.emit, args[0], to, hint)
    vector = matrix_type(callee)
    if vector is not None:
        return matrices.of_type(f, vector, args)
    kind = struct_type(callee)
    if kind is not None:
        return structs.of_type(f, kind, args, keywords, node)
    if is_kernel(callee.value):
        f.refuse(
            "unknown-function",
            "a kernel cannot call a kernel",
            node,
            help="make the called one a func: `@ds.func`",
        )
    if (
        f.static
        or is_layout_node(getattr(callee.value, "__self__", None))
        or python_calls.always_the_same(callee.value, args, keywords)
    ):
        return python_calls.call(f, callee, args, keywords, node)
    _refuse_callee(f, callee.value, node)


def _refuse_callee(f: Frame, value: Any, node: ast.Call) -> Value:
    name = getattr(value, "__name__", type(value).__name__)
    if isinstance(value, types.FunctionType) and value.__module__.split(".")[0] not in _LIBRARIES:
        f.refuse(
            "unknown-function",
            f"`{name}` is a plain Python function",
            node,
            help="decorate it with `@ds.func`",
        )
    help = advice.instead_of(value) or suggestion(name, [*elementary.FUNCTIONS, *_BY_VALUE])
    help = help or "write it as a func: `@ds.func`"
    f.refuse("unknown-function", f"kernels do not know `{name}`", node.func, help=help)


_LIBRARIES = {"numpy", "scipy", "torch", "jax"}
