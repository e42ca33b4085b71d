"""What kernels can call besides builtins: funcs, derivatives, plain Python functions, and parts of a call.

A plain function is inlined as a func is, but by Python's rules: its annotations have no effect, and a name
that holds a Python number may hold any other value later. Functions of Python's standard library and of other
libraries are excluded: they are not written in the kernel language.
"""

from __future__ import annotations

import ast
import functools
import inspect
import sysconfig
import types
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from dsim.frontend.control.exits import assigned, stored
from dsim.frontend.frames.builtins import builtin
from dsim.frontend.frames.frame import Frame
from dsim.frontend.frames.names import imported
from dsim.frontend.source import methods
from dsim.frontend.source.captures import is_function, is_kernel
from dsim.frontend.source.paths import Path
from dsim.frontend.values.structure import same
from dsim.frontend.values.values import Element, LocalFunc, Mat, Opaque, Partial, StructValue, Value, describe
from dsim.records import record

LIBRARIES = {"numpy", "scipy", "torch", "jax", "dsim"}
_STANDARD = tuple({sysconfig.get_path(kind) for kind in ("stdlib", "platstdlib")})
_INSTALLED = tuple({sysconfig.get_path(kind) for kind in ("purelib", "platlib")})


@record
class Plain:
    """A plain Python function, or a method, by the protocol of funcs."""

    __dsim_func__: types.FunctionType | types.MethodType
    __dsim_rules__: None = None
    path: Path | None = None

    @property
    def name(self) -> str:
        """What Python calls it."""
        return self.__dsim_func__.__name__


def of(value: object) -> Any:
    """`value` as an inlinable callable: a func, a derivative or a plain function; None for anything else.

    A `functools.partial` of one is returned unchanged.
    """
    value, _ = methods.bound(value)
    if is_function(value):
        return value
    if isinstance(value, functools.partial):
        return value if of(value.func) is not None else None
    if isinstance(value, functools._lru_cache_wrapper):
        return of(value.__wrapped__)
    if isinstance(value, types.MethodType | types.FunctionType):
        return Plain(value) if _is_persons(getattr(value, "__func__", value)) else None
    return of(value.__call__) if is_callable_object(value) else None  # type: ignore[attr-defined]


def is_callable_object(value: object) -> bool:
    """Whether `value` is an object of a user's class that has a `__call__` to be inlined."""
    if isinstance(value, type) or is_kernel(value) or builtin(value) is not None:
        return False
    called = inspect.getattr_static(type(value), "__call__", None)
    return is_function(called) or _is_persons(called)


def _is_persons(function: object) -> bool:
    """Whether it is a Python function of the user's program, not of a library."""
    if not isinstance(function, types.FunctionType) or builtin(function) is not None:
        return False
    if (function.__module__ or "").split(".")[0] in LIBRARIES:
        return False
    filename = function.__code__.co_filename
    return not filename.startswith(_STANDARD) or filename.startswith(_INSTALLED)


def callable_of(f: Frame, value: Value, node: ast.AST) -> Any:
    """The callable that a kernel's value represents, for `Language.invoke`; None when it cannot be inlined.

    It is noted as captured.
    """
    if isinstance(value, LocalFunc | Partial):
        return value
    if not isinstance(value, Opaque):
        return None
    found = of(value.value)
    if found is not None and value.path is not None:
        f.c.captures.function(value.path, value.value)
    if isinstance(found, functools.partial):
        return partial(f, found, value.path, node)
    if isinstance(found, Plain):
        _refuse_paused(f, found, node)
        if value.value is found.__dsim_func__ and isinstance(value.value, types.FunctionType):
            return replace(found, path=value.path)
    return found


def partial(f: Frame, value: functools.partial[Any], path: Path | None, node: ast.AST) -> Partial:
    """A `functools.partial` of what can be inlined, as a value of the kernel."""
    return Partial(callable_of(f, Opaque(value.func), node), *given_to(f, value, path, node))


def given_to(
    f: Frame, value: functools.partial[Any], path: Path | None, node: ast.AST
) -> tuple[tuple[Value, ...], dict[str, Value]]:
    """The arguments that a `functools.partial` holds."""
    args = None if path is None else path.attribute("args")
    named = None if path is None else path.attribute("keywords")
    found = (imported(f, a, args and args.item(i), node) for i, a in enumerate(value.args))
    return tuple(found), {k: imported(f, v, named and named.item(k), node) for k, v in value.keywords.items()}


def _refuse_paused(f: Frame, function: Plain, node: ast.AST) -> None:
    """Refuses generators and coroutines."""
    python = function.__dsim_func__
    if inspect.iscoroutinefunction(python):
        f.refuse("unknown-function", f"`{function.name}` is asynchronous", node, help="make it a plain `def`")
    if inspect.isgeneratorfunction(python) or inspect.isasyncgenfunction(python):
        help = "return a tuple or a list, or store the values in a field"
        f.refuse("unknown-function", f"`{function.name}` is a generator", node, help=help)


# ------------------------------------------------------------------ arguments that a call changes in place


def changeable(inner: Frame) -> dict[str, Value]:
    """The arguments of a plain function that it could change in place, if Python ran it.

    Not those whose name it rebinds, and not the struct of a method.
    """
    if not inner.plain:
        return {}
    given = {n: v for n, v in inner.scope.values.items() if isinstance(v, Mat | StructValue | Element)}
    others = inner.kept.union(_rebound(inner.text.node))
    return {n: v for n, v in given.items() if n not in others}


def _rebound(node: ast.FunctionDef) -> Iterator[str]:
    nodes = [n for s in node.body for n in ast.walk(s)]
    in_place = {n.target for n in nodes if isinstance(n, ast.AugAssign)}
    for n in nodes:
        name = stored(n)
        if name is not None and n not in in_place:
            yield name


def refuse_changed(f: Frame, inner: Frame, before: Mapping[str, Value], node: ast.AST) -> None:
    """Refuses a call that has changed an argument, which Python would change for the caller."""
    assigned_to = set(assigned(inner.text.node.body))
    for name, value in before.items():
        changed = name in assigned_to if isinstance(value, Element) else False
        if changed or not same(inner.scope.values.get(name, value), value):
            help = f"return the new value; or make it a func, and annotate `{name}: ds.template()`"
            message = f"`{inner.name}` changes its parameter `{name}`, which is {describe(value)} here"
            f.refuse("argument", message, node, help=help)
