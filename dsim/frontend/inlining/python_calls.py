"""Plain Python functions in kernels: called at compile time.

`static(…)` may call any function. Elsewhere its arguments must be known and it must be *closed*: its code
reads nothing mutable from outside, so that it would return the same value at each launch.
"""

from __future__ import annotations

import ast
import builtins
import dis
import math
import types
from collections.abc import Collection, Iterator
from itertools import pairwise

import numpy as np

from dsim.diagnostics.places import LIBRARIES, ours
from dsim.frontend.frames.frame import Frame
from dsim.frontend.frames.names import imported
from dsim.frontend.frames.static import compile_time
from dsim.frontend.source.captures import constant_module
from dsim.frontend.source.paths import MISSING, Path, Surroundings
from dsim.frontend.values.operators import exact
from dsim.frontend.values.values import Opaque, Value
from dsim.ir.nodes import Const

_STEADY = {
    getattr(builtins, name)
    for name in (
        "abs", "bool", "divmod", "enumerate", "float", "int", "len", "list", "map", "max", "min", "pow",
        "range", "reversed", "round", "sorted", "str", "sum", "tuple", "zip",
    )
}  # fmt: skip
_OF_ITEMS = (all, any, max, min, sum)  # in a kernel: of the entries of a vector
_ATTRIBUTES = ("LOAD_ATTR", "LOAD_METHOD")
_REACHES_OUT = {"STORE_GLOBAL", "DELETE_GLOBAL", "STORE_ATTR", "IMPORT_NAME", "LOAD_NAME", "YIELD_VALUE"}


def call(f: Frame, callee: Opaque, args: list[Value], keywords: dict[str, Value], node: ast.Call) -> Value:
    """The value of a Python function called at compile time."""
    plain = [compile_time(f, a, node) for a in args]
    named = {k: compile_time(f, v, node) for k, v in keywords.items()}
    if callee.path is not None:
        _note(f, callee.path, callee.value)
    try:
        if callee.value is pow and len(plain) == 2 and not named:
            result = exact(f.emit, "**", *plain)
        else:
            result = callee.value(*plain, **named)
    except (TypeError, ValueError, AttributeError, LookupError, ArithmeticError, OSError) as error:
        f.refuse("argument", str(error), node)
    except RecursionError:
        message = f"`{getattr(callee.value, '__name__', 'this function')}` calls itself without end"
        f.refuse("recursion", message, node, help="end the recursion by a condition")
    return _as_written(f, result, node)


def is_of_containers(function: object, args: list[Value]) -> bool:
    """Whether Python runs a function that kernels have too: ``static(sum(items))``, ``static(np.dot(a, a))``.

    Kernels have it for their own vectors.
    """
    held = [a.value for a in args if isinstance(a, Opaque)]
    if any(isinstance(value, np.ndarray) for value in held):
        return not hasattr(function, "__dsim_builtin__")
    return function in _OF_ITEMS and len(args) == len(held) == 1 and isinstance(held[0], Collection)


def _note(f: Frame, path: Path, function: object) -> None:
    """Notes that a function was called, and the numbers and functions that it reads from outside."""
    python = getattr(function, "__func__", function)
    if not isinstance(python, types.FunctionType) or path.text in f.c.captures.objects:
        return
    f.c.captures.function(path, function)
    if isinstance(function, types.MethodType):
        _note_attributes(f, path, function)
    if python.__globals__ is not f.surroundings.module and _is_installed(python.__code__.co_filename):
        return
    for inner, value in _reads(f, path, python):
        if isinstance(value, int | float | str):
            f.c.captures.constant(inner, value)
        else:
            _note(f, inner, value)


def _is_installed(filename: str) -> bool:
    """Whether a file is one of a library, whose numbers seldom change."""
    return filename.startswith(LIBRARIES) or ours(filename)


def _reads(f: Frame, path: Path, python: types.FunctionType) -> Iterator[tuple[Path, object]]:
    """The variables of its module and of functions around it that a function reads, and their values.

    Of a module among them its attribute that is read.
    """
    around = Surroundings(python, path)
    for step, following in (p for c in _codes(python.__code__) for p in pairwise(dis.get_instructions(c))):
        is_outer = step.opname == "LOAD_DEREF" and step.argval in around.cells
        found = around.find(step.argval) if is_outer or step.opname == "LOAD_GLOBAL" else None
        if found is None:
            continue
        inner, value = f.c.captures.rooted(*found, python.__name__), found[0].read()
        if not isinstance(value, types.ModuleType):
            yield inner, value
        elif following.opname in _ATTRIBUTES and not constant_module(value):
            yield inner.attribute(following.argval), getattr(value, following.argval, None)


def _note_attributes(f: Frame, path: Path, method: types.MethodType) -> None:
    """Notes the numbers, strings, containers and arrays that a method reads as attributes of its object."""
    owner, code = method.__self__, method.__func__.__code__
    held = Path(path.text.rpartition(".")[0] or path.text, lambda: getattr(path.read(), "__self__", MISSING))
    for step, following in pairwise(dis.get_instructions(code)):
        several = isinstance(step.argval, tuple)  # since Python 3.13
        loaded = step.argval[-1] if several else step.argval
        reads = "LOAD_FAST" in step.opname and loaded == code.co_varnames[0]
        value = getattr(owner, following.argval, None) if reads and following.opname == "LOAD_ATTR" else None
        if isinstance(value, int | float | str | list | tuple | dict | set | np.ndarray):
            f.c.captures.constant(held.attribute(following.argval), value)


def _as_written(f: Frame, result: object, node: ast.Call) -> Value:
    """Lists and tuples become the values of list and tuple displays in a kernel."""
    if not f.static and isinstance(result, list):
        return [_as_written(f, item, node) for item in result]
    if not f.static and isinstance(result, tuple):
        return tuple(_as_written(f, item, node) for item in result)
    return imported(f, result, None, node)


def always_the_same(function: object, args: list[Value], keywords: dict[str, Value]) -> bool:
    """Whether a call returns the same value at each launch."""
    return all(_known(a) for a in (*args, *keywords.values())) and closed(function)


def _known(value: Value) -> bool:
    """Whether `value` is a number, a string, or a container of numbers, known at compile time.

    A vector is not: Python would receive a list, which it multiplies differently.
    """
    if isinstance(value, tuple | list):
        return all(_known(v) for v in value)
    return isinstance(value, int | float | str | Const | None)


def closed(function: object) -> bool:
    """Whether the result of a Python function depends only on its arguments, judged by its code."""
    return _closed(function, set())


def _closed(function: object, seen: set[types.FunctionType]) -> bool:
    """`closed`, where the mutually recursive functions of `seen` are assumed to be closed."""
    if not isinstance(function, types.FunctionType):
        return False
    if function in seen:
        return True
    seen.add(function)
    defaults = (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values())
    return (
        all(isinstance(d, int | float | str | None) for d in defaults)
        and all(_closed(value, seen) for value in _enclosed(function))
        and all(_stays(function, code, seen) for code in _codes(function.__code__))
    )


def _enclosed(function: types.FunctionType) -> Iterator[object]:
    """The variables of enclosing functions that it reads."""
    for cell in function.__closure__ or ():
        try:
            yield cell.cell_contents
        except ValueError:  # not assigned yet
            yield None


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    """That of a function, and those of the comprehensions and functions written in it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _codes(constant)


def _stays(function: types.FunctionType, code: types.CodeType, seen: set[types.FunctionType]) -> bool:
    """Whether the non-local names of `code` never change."""
    for step, following in pairwise([*dis.get_instructions(code), None]):
        assert step is not None
        if step.opname in _REACHES_OUT:
            return False
        if step.opname == "LOAD_GLOBAL":
            value = function.__globals__.get(step.argval, getattr(builtins, step.argval, None))
            if value is math:
                continue
            attribute = following is not None and following.opname in _ATTRIBUTES
            if attribute or not (_is_steady_builtin(value) or _closed(value, seen)):
                return False
    return True


def _is_steady_builtin(value: object) -> bool:
    return isinstance(value, type | types.BuiltinFunctionType) and value in _STEADY
