"""Operators that a person's class defines: ``__add__`` and its kin, of structs and dataclasses."""

from __future__ import annotations

import ast
import inspect
from typing import Any

from dsim.frontend.expressions.records import is_record
from dsim.frontend.frames.frame import Frame
from dsim.frontend.source.captures import is_function
from dsim.frontend.values import operators
from dsim.frontend.values.values import Method, Opaque, RecordValue, StructValue, Value, describe

_ARITHMETIC = {
    "+": "add", "-": "sub", "*": "mul", "/": "truediv", "//": "floordiv", "%": "mod", "**": "pow",
    "@": "matmul", "&": "and", "|": "or", "^": "xor", "<<": "lshift", ">>": "rshift",
}  # fmt: skip
_COMPARED = {"<": "gt", "<=": "ge", ">": "lt", ">=": "le", "==": "eq", "!=": "ne"}  # with operands swapped
_UNARY = {"-": "__neg__", "+": "__pos__", "~": "__invert__"}

NAMES = frozenset(
    {f"__{name}__" for name in (*_ARITHMETIC.values(), *_COMPARED.values())}
    | {f"__{letter}{name}__" for name in _ARITHMETIC.values() for letter in "ri"}
    | {*_UNARY.values(), "__call__"}
)


def method(value: Value, name: str) -> Any:
    """What the class of `value` defines as `name`; None where it does not, or Python has generated it."""
    if isinstance(value, StructValue):
        return None if value.kind is None else value.kind.method(name)
    if isinstance(value, Opaque) and not isinstance(value.value, type) and is_record(type(value.value)):
        kind: type = type(value.value)
    elif isinstance(value, RecordValue):
        kind = value.kind
    else:
        return None
    found = inspect.getattr_static(kind, name, None)
    if inspect.isfunction(found):
        return None if is_generated(found) else found
    return found if is_function(found) else None


def is_generated(function: Any) -> bool:
    """Whether the decorator of a dataclass has made `function`."""
    return function.__code__.co_filename == "<string>"


def binary(f: Frame, sign: str, a: Value, b: Value, hint: str = "t") -> Value:
    """``a sign b`` by a method of one of them; None where neither has one."""
    if sign in _ARITHMETIC:
        first, second = f"__{_ARITHMETIC[sign]}__", f"__r{_ARITHMETIC[sign]}__"
    elif sign in _COMPARED:
        second = f"__{_COMPARED[sign]}__"
        first = f"__{_COMPARED[_swapped(sign)]}__"
    else:
        return None
    for owner, other, name in ((a, b, first), (b, a, second)):
        found = method(owner, name)
        if found is not None:
            return _called(f, owner, name, found, [other], hint)
    return None


def _called(f: Frame, owner: Value, name: str, found: Any, others: list[Value], hint: str) -> Value:
    node = ast.Constant(None)
    if isinstance(owner, StructValue):  # its methods may change it
        return f.c.language.apply(f, Method(owner, name, node), others, node)
    return f.invoke(found, [owner, *others], {}, node, hint)


def _swapped(sign: str) -> str:
    return {"<": ">", "<=": ">=", ">": "<", ">=": "<="}.get(sign, sign)


def unary(f: Frame, sign: str, a: Value, hint: str = "t") -> Value:
    """``sign a``, by a method of `a` if it has one."""
    found = method(a, _UNARY.get(sign, ""))
    if found is None:
        return operators.unary(f.emit, sign, a, hint)
    return _called(f, a, _UNARY[sign], found, [], hint)


def refuse_in_place(f: Frame, sign: str, a: Value) -> None:
    """Refuses ``a sign= b`` where the class of `a` has a method for it, which would change `a` itself."""
    name = f"__i{_ARITHMETIC.get(sign, '')}__"
    if method(a, name) is not None:
        message = f"kernels do not call `{name}`, which {describe(a)} has"
        f.emit.refuse("type", message, help=f"write `a = a {sign} b`, with `__{name[3:]}`")
