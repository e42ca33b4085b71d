"""Calls: of builtins, types, methods and funcs."""

from __future__ import annotations

import ast
import dataclasses
import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Any, NoReturn

from dsim.frontend.calls import by_value
from dsim.frontend.control import loop_ranges
from dsim.frontend.expressions import (
    classes,
    field_methods,
    matrices,
    overloads,
    record_values,
    structs,
    updates,
)
from dsim.frontend.expressions.assign import assign
from dsim.frontend.expressions.elements import store
from dsim.frontend.expressions.records import is_record
from dsim.frontend.expressions.subscripts import root_local
from dsim.frontend.frames import hints, names
from dsim.frontend.frames.builtins import builtin
from dsim.frontend.frames.frame import Frame
from dsim.frontend.frames.items import items
from dsim.frontend.frames.names import suggestion
from dsim.frontend.frames.static import evaluate, static_assert
from dsim.frontend.inlining import python_calls, references, struct_methods
from dsim.frontend.inlining.callables import callable_of, given_to
from dsim.frontend.source.captures import is_function, is_kernel, is_layout_node, is_operation
from dsim.frontend.statements import loops
from dsim.frontend.statements.messages import report_print
from dsim.frontend.values import advice, elementary
from dsim.frontend.values.operators import operand
from dsim.frontend.values.types import matrix_type, scalar_type, struct_type
from dsim.frontend.values.values import (
    POISON,
    Element,
    FieldValue,
    Keywords,
    LocalFunc,
    Mat,
    Method,
    Opaque,
    Partial,
    StructElement,
    StructFieldValue,
    StructValue,
    Value,
    describe,
    is_scalar,
)


def call(f: Frame, node: ast.Call, used: bool, hint: str = "t") -> Value:
    """The value of a call; `used` tells whether the program uses the value."""
    callee = f.place(node.func)
    if isinstance(callee, Method):
        return _method(f, callee, node, hint)
    if not isinstance(callee, Opaque):
        return _value(f, callee, node, hint)
    return _python(f, callee, node, used, hint)


def _python(f: Frame, callee: Opaque, node: ast.Call, used: bool, hint: str) -> Value:
    """A call of a Python object: a builtin, a func, a type, a plain function."""
    name = builtin(callee.value)
    if name is not None and name in _BY_SYNTAX:
        return _BY_SYNTAX[name](f, name, node, used)
    if name is None and is_function(callee.value):
        if callee.path is not None:
            f.c.captures.function(callee.path, callee.value)
        return references.call(f, callee.value, node, hint, arguments)
    args, keywords = arguments(f, node)
    if name is None:
        return _object(f, callee, args, keywords, node, hint)
    if f.static and python_calls.is_of_containers(callee.value, args):
        return python_calls.call(f, callee, args, keywords, node)
    return _builtin(f, name, args, keywords, node, hint)


def _value(f: Frame, callee: Value, node: ast.Call, hint: str) -> Value:
    """A call of a local function, or of a struct or dataclass that defines ``__call__``."""
    if isinstance(callee, LocalFunc | Partial):
        return references.call(f, callee, node, hint, arguments)
    own = overloads.method(callee, "__call__")
    if own is None:
        _refuse_value(f, callee, node)
    if isinstance(callee, StructValue):
        return _method(f, Method(callee, "__call__", node.func), node, hint)
    return f.invoke(Partial(own, (callee,), {}), *arguments(f, node), node, hint)


def apply(f: Frame, callee: Value, args: list[Value], node: ast.AST) -> Value:
    """The value of ``callee(*args)`` where both are values already."""
    if isinstance(callee, Method):
        return struct_methods.apply(f, callee, args, node)
    function = callable_of(f, callee, node)
    if function is None and isinstance(callee, Opaque):
        _refuse_callee(f, callee.value, node)
    if function is None:
        _refuse_value(f, callee, node)
    return f.invoke(function, args, {}, node)


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
        given = _opened(f, k.value) if k.arg is None else {k.arg: f.value(k.value)}
        for name, value in given.items():
            if name in keywords:
                f.refuse("argument", f"the argument `{name}` is given twice", k.value)
            keywords[name] = value
    return args, keywords


def _opened(f: Frame, node: ast.expr) -> Mapping[str, Value]:
    """The arguments that ``**node`` expands to."""
    value = f.value(node)
    if isinstance(value, Keywords | StructValue):
        return value.members
    if isinstance(value, Opaque) and isinstance(value.value, Mapping):
        return {str(key): names.item(f, value, key, node) for key in value.value}
    f.refuse("argument", f"{describe(value)} holds no arguments by name", node, help="write them out")


# ------------------------------------------------------------------ builtins


def _builtin(
    f: Frame, name: str, args: list[Value], keywords: dict[str, Value], node: ast.Call, hint: str
) -> Value:
    if name == "Struct":
        return structs.literal(f, args, keywords, node)
    if name in matrices.MAKERS:
        return _checked(f, name, node, matrices.MAKERS[name], *args, **keywords)
    if name in by_value.FUNCTIONS:
        return _checked(f, name, node, by_value.FUNCTIONS[name], hint, *args, **keywords)
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
    if name == "select" and isinstance(args[1], StructValue):
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
    if isinstance(method.owner, StructValue | StructElement):
        return struct_methods.call(f, method, node, hint, arguments)
    args, keywords = arguments(f, node)
    if field_methods.is_one(method):
        return field_methods.call(f, method, args, node)
    if method.name == "fill":
        return _fill(f, method, args, node)
    known = matrices.METHODS.get(method.name)
    if known is None:
        help = advice.method(method.name) or suggestion(method.name, [*matrices.METHODS, "fill"])
        local = root_local(f, method.node)
        if local is not None and advice.method(method.name):
            f.bind(local, POISON)  # what follows takes it to be longer
        f.refuse(
            "unknown-attribute", f"{describe(method.owner)} has no method `{method.name}`", node, help=help
        )
    owner = f.load(method.owner)
    if not isinstance(owner, Mat):
        if method.name == "cast":
            return _checked(f, "cast", node, by_value.cast, hint, owner, *args)
        f.refuse("unknown-attribute", f"{describe(owner)} has no method `{method.name}`", node)
    return _checked(f, method.name, node, known, owner, hint, *args, **keywords)


def _refuse_kept(f: Frame, method: Method, node: ast.Call) -> None:
    """Refuses to store or pass a method that may change its owner, which it refers to by its location."""
    changes = isinstance(method.owner, StructValue) or (
        method.name == "fill" and isinstance(method.owner, Mat)
    )
    if changes and method.node not in (node.func, getattr(node.func, "value", None)):
        f.refuse(
            "syntax",
            f"the method `{method.name}` can only be called, not stored or passed",
            node,
            help=f"write the call, `….{method.name}(…)`",
        )


def _fill(f: Frame, method: Method, args: list[Value], node: ast.Call) -> Value:
    if len(args) != 1 or not (is_scalar(args[0]) or isinstance(method.owner, FieldValue | StructFieldValue)):
        f.refuse("argument", "`fill` takes one scalar", node)
    if isinstance(method.owner, Element):
        store(f, method.owner, args[0])
        return
    if isinstance(method.owner, FieldValue | StructFieldValue):
        loops.fill(f, method.owner, args[0])
        return
    if root_local(f, method.node, StructValue) is None and not (
        root_local(f, method.node) is not None and isinstance(method.node, ast.Name)
    ):
        f.refuse("type", "only a local or an element of a field can be filled", node)
    assign(f, method.node, args[0], method.node)


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
    made = None if f.static else _made(f, callee, args, keywords, node)
    return _called(f, callee, args, keywords, node, hint) if made is None else made


def _made(f: Frame, kind: Opaque, args: list[Value], keywords: dict[str, Value], node: ast.Call) -> Value:
    """A dataclass, a `functools.partial` or a ``super()`` that a call makes; None for any other call."""
    callee = kind.value
    if is_record(callee):
        classes.note(f, kind)
        return record_values.make(f, callee, args, keywords, node)
    if callee is dataclasses.replace:
        return record_values.replaced(f, args, keywords, node)
    if callee is functools.partial:
        function = callable_of(f, args[0], node) if args else None
        if function is None:
            what = describe(args[0]) if args else "nothing"
            help = "write a `lambda`, or a func of your own"
            f.refuse("argument", f"`partial` takes a func or a Python function, got {what}", node, help=help)
        return Partial(function, tuple(args[1:]), keywords)
    return record_values.parent(f, node) if callee is super and not args else None


def _called(
    f: Frame, callee: Opaque, args: list[Value], keywords: dict[str, Value], node: ast.Call, hint: str
) -> Value:
    """A call of a Python function: at compile time where it always gives the same, otherwise inlined."""
    if (
        f.static
        or is_layout_node(getattr(callee.value, "__self__", None))
        or python_calls.always_the_same(callee.value, args, keywords)
    ):
        return python_calls.call(f, callee, args, keywords, node)
    function = callable_of(f, callee, node)
    if function is None and isinstance(callee.value, functools.partial):
        return _partial(f, callee, args, keywords, node, hint)
    if function is None:
        _refuse_callee(f, callee.value, node)
    return f.invoke(function, args, keywords, node, hint)


def _partial(
    f: Frame, callee: Opaque, args: list[Value], keywords: dict[str, Value], node: ast.Call, hint: str
) -> Value:
    """A call of ``functools.partial(builtin, …)``."""
    name = builtin(callee.value.func)
    if name is None or name in _BY_SYNTAX:
        _refuse_callee(f, callee.value.func, node)
    if callee.path is not None:
        f.c.captures.function(callee.path, callee.value)
    given = given_to(f, callee.value, callee.path, node)
    return _builtin(f, name, [*given[0], *args], {**given[1], **keywords}, node, hint)


def _refuse_value(f: Frame, callee: Value, node: ast.AST) -> NoReturn:
    f.refuse("unknown-function", f"{describe(callee)} cannot be called", getattr(node, "func", node))


def _refuse_callee(f: Frame, value: Any, node: ast.AST) -> NoReturn:
    at = getattr(node, "func", node)
    name = getattr(value, "__name__", type(value).__name__)
    if is_operation(value):
        message = f"a kernel cannot call `{name}`: an operation works on whole fields, from Python"
        help = f"call it between kernels, `{name}(…, out=x)`, and read the field `x` in the kernel"
        f.refuse("unknown-function", message, at, help=help)
    advised = advice.instead_of(value)
    if isinstance(value, type) and not advised:
        help = "make it a struct: `@ds.dataclass`"
        f.refuse("unknown-function", f"kernels cannot make a `{name}`", at, help=help)
    known = [*elementary.FUNCTIONS, *by_value.FUNCTIONS]
    help = advised or (f"kernels have `ds.{name}`" if name in known else suggestion(name, known))
    help = help or "write your own function, or let Python call it at compile time: `ds.static(…)`"
    f.refuse("unknown-function", f"kernels cannot call `{name}`", at, help=help)
