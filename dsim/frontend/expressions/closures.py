"""Functions that a kernel or func defines inside itself: a nested `def`, or a lambda.

As in Python, the names of the function around are looked up when the closure is called, but its defaults,
annotations and decorators are evaluated where it is defined.
"""

from __future__ import annotations

import ast
from typing import Any

from dsim.frontend.frames.builtins import builtin
from dsim.frontend.frames.frame import Frame
from dsim.frontend.source.lambdas import as_def
from dsim.frontend.values.values import LocalFunc, Opaque, Value, describe

_MARKS = ("func", "real_func", "pyfunc")  # decorators that say what a local function is anyway


def from_lambda(f: Frame, node: ast.Lambda) -> LocalFunc:
    """The value of a lambda."""
    return _closure(f, as_def(node))


def from_def(f: Frame, node: ast.FunctionDef) -> Value:
    """The value that the name of a nested `def` is bound to, its decorators applied."""
    decorators = [f.value(n) for n in node.decorator_list]
    value: Value = _closure(f, node)
    for decorator, at in zip(reversed(decorators), reversed(node.decorator_list), strict=True):
        if isinstance(decorator, Opaque):
            name = builtin(decorator.value)
            if name in _MARKS:
                continue
            if name is not None or isinstance(decorator.value, type):
                help = "remove it; in a kernel every local function is a func"
                f.refuse(
                    "unknown-function", f"{_named(decorator)} decorates no local function", at, help=help
                )
        value = f.c.language.apply(f, decorator, [value], at)
    return value


def _named(decorator: Opaque) -> str:
    name = getattr(decorator.value, "__name__", "")
    return f"`{name}`" if name else describe(decorator)


def _closure(f: Frame, node: ast.FunctionDef) -> LocalFunc:
    return LocalFunc(node, f, _defaults(f, node.args), _annotations(f, node), tuple(f.scope.comprehensions))


def _defaults(f: Frame, spec: ast.arguments) -> dict[str, Value]:
    names = [a.arg for a in (*spec.posonlyargs, *spec.args)]
    nodes = dict(zip(names[len(names) - len(spec.defaults) :], spec.defaults, strict=True))
    nodes |= {a.arg: d for a, d in zip(spec.kwonlyargs, spec.kw_defaults, strict=True) if d is not None}
    return {name: f.value(n, name) for name, n in nodes.items()}


def _annotations(f: Frame, node: ast.FunctionDef) -> dict[str, Any]:
    """Those of the parameters and the result; in a plain Python function they have no effect."""
    if f.plain:
        return {}
    spec = node.args
    given = {a.arg: a.annotation for a in (*spec.posonlyargs, *spec.args, *spec.kwonlyargs)}
    with f.statically():
        found = {k: f.value(n) for k, n in {**given, "return": node.returns}.items() if n is not None}
    return {k: v.value if isinstance(v, Opaque) else v for k, v in found.items()}
