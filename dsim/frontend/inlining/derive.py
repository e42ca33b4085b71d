"""Derivatives of funcs inside kernels: ``forward(f)(…)`` and ``grad(f)(…)`` become `Derive`."""

from __future__ import annotations

import ast
import functools
import itertools
from dataclasses import dataclass
from typing import Any

from dsim.frontend.frames.frame import Frame
from dsim.frontend.frames.scope import DRAWS
from dsim.frontend.inlining import callables
from dsim.frontend.inlining.custom_derivatives import is_floating
from dsim.frontend.source.problems import RefusedError
from dsim.frontend.values.operators import operand
from dsim.frontend.values.structure import fits, labels, rebuilt, same, scalars
from dsim.frontend.values.values import (
    LocalFunc,
    Partial,
    StructValue,
    Value,
    describe,
    is_open,
    is_scalar,
    kind_of,
)
from dsim.ir.nodes import Accumulate, Atom, Block, Const, Derive, Print, Statement, Store, Var
from dsim.ir.walk import statements


@dataclass(frozen=True)
class DerivativeLike:
    """A derivative of a func created inside a kernel, by the protocol of such objects."""

    __dsim_derivative__: tuple[str, Any]


def call(
    f: Frame, mode: tuple[str, Any], args: list[Value], keywords: dict[str, Value], node: ast.AST
) -> Value:
    """The value of a derivative at `args`; for ``forward`` the tangents follow the arguments."""
    if keywords:
        f.refuse("argument", "a derivative takes positional arguments only", node)
    kind, inner = mode
    if kind == "vjp":
        return _vjp(f, inner, [_floating(f, a, len(args) == 1) for a in args], node)
    return _jvp(f, inner, args, node)


def _floating(f: Frame, value: Value, alone: bool) -> Value:
    """`value` as a derivative takes it: an untyped number that is the only argument is a float."""
    if isinstance(value, list):
        return operand(f.emit, value)
    if is_open(value) and (alone or kind_of(value) is float):
        return f.emit.atom(value, f.emit.settings.default_fp)
    return value


def arities(function: Any) -> set[int]:
    """How many arguments a func, or a derivative, may take (its tangents counted)."""
    if isinstance(function, LocalFunc):
        spec = function.node.args
        most = len(spec.posonlyargs) + len(spec.args)
        return set(range(most - len(spec.defaults), most + 1))
    if isinstance(function, Partial | functools.partial):
        inner = function.function if isinstance(function, Partial) else function.func
        return {n - len(function.args) for n in arities(inner) if n >= len(function.args)}
    function = callables.of(function)
    mode = getattr(function, "__dsim_derivative__", None)
    if mode is None:
        python = function.__dsim_func__
        code = python.__code__
        most = code.co_argcount - (1 if hasattr(python, "__self__") else 0)
        return set(range(most - len(python.__defaults__ or ()), most + 1))
    inner = arities(mode[1])
    if mode[0] == "vjp":
        return inner
    return {n + k for n in inner for k in range(1, n + 1)} | ({1} if 1 in inner else set())


def _jvp(f: Frame, inner: Any, args: list[Value], node: ast.AST) -> Value:
    possible = arities(inner)
    if len(args) == 1 and 1 in possible:
        primal = _floating(f, args[0], True)
        if not is_scalar(primal):
            f.refuse(
                "argument", f"the tangent of {describe(primal)} is missing", node, help="`forward(f)(x, dx)`"
            )
        return _derive(f, "jvp", inner, [primal], [1.0], node)
    for n in sorted(possible):
        primals = [_floating(f, a, n == 1) for a in args[:n]]
        floats = [i for i, a in enumerate(primals) if is_floating(f, a)]
        if n < len(args) == n + len(floats):
            return _derive(f, "jvp", inner, primals, args[n:], node)
    f.refuse(
        "argument",
        f"a forward derivative takes the arguments and then their tangents, got {len(args)} in all",
        node,
        help="`forward(f)(x, y, dx, dy)`",
    )


def _vjp(f: Frame, inner: Any, primals: list[Value], node: ast.AST) -> Value:
    gradients = _derive(f, "vjp", inner, primals, [1.0], node)
    return gradients[0] if len(gradients) == 1 else tuple(gradients)


def _derive(f: Frame, mode: Any, inner: Any, primals: list[Value], seeds: list[Value], node: ast.AST) -> Any:
    e = f.emit
    params: list[Var] = []
    args: list[Atom] = []
    inside: list[Value] = []
    for i, value in enumerate(primals):
        if not is_floating(f, value):
            inside.append(value)
            continue
        atoms = [e.atom(s) for s in scalars(value)]
        fresh = [e.builder.fresh(h, a.type) for h, a in zip(labels(f"a{i}", value), atoms, strict=True)]
        params += fresh
        args += atoms
        inside.append(rebuilt(value, iter(fresh)))
    if not params:
        f.refuse(
            "not-differentiable",
            "this derivative has no float argument to differentiate by",
            node,
            help="pass floats",
        )
    body, result = _body(f, inner, inside, node)
    yields = body.yields
    types = [p.type for p in params] if mode == "jvp" else [y.type for y in yields]
    atoms = _seeds(f, primals if mode == "jvp" else [result], seeds, types, node)
    like = [result] if mode == "jvp" else [v for v in inside if is_floating(f, v)]
    hints = [h for v in like for h in labels("d", v)]
    kinds = [y.type for y in yields] if mode == "jvp" else [p.type for p in params]
    results = tuple(e.builder.fresh(h, t) for h, t in zip(hints, kinds, strict=True))
    e.builder.add(Derive(mode, tuple(params), body, tuple(args), tuple(atoms), results, e.builder.origin))
    supply = iter(results)
    out = [rebuilt(v, supply) for v in like]
    return out[0] if mode == "jvp" else out


def _body(f: Frame, inner: Any, inside: list[Value], node: ast.AST) -> tuple[Block, Value]:
    """The function's body, and the structure of what it yields."""
    e = f.emit
    drawn = f.scope.values[DRAWS]
    with e.builder.block() as found, f.c.watches.pause():
        result = f.invoke(inner, inside, {}, node)
        if isinstance(result, list):
            raise RefusedError
        if not scalars(result):
            f.refuse("not-differentiable", "this function returns no value to differentiate", node)
        yields = tuple(e.atom(s) for s in scalars(result))
    if not all(y.type.is_float for y in yields):
        f.refuse("not-differentiable", "this function returns an integer", node, help="return a float")
    if not same(f.scope.values[DRAWS], drawn) and not isinstance(f.scope.values[DRAWS], Const):
        f.refuse(
            "not-differentiable",
            "a function that is differentiated in a kernel cannot draw random numbers",
            node,
        )
    body = Block(tuple(found), yields)
    _check_pure(f, body, node)
    return body, rebuilt(result, iter(yields))


def _check_pure(f: Frame, body: Block, node: ast.AST) -> None:
    for s in statements(body):
        if _has_effect(s):
            f.refuse(
                "not-differentiable",
                "a function that is differentiated in a kernel cannot write to fields",
                node,
            )


def _has_effect(s: Statement) -> bool:
    return isinstance(s, Print) or (isinstance(s, Store | Accumulate) and not s.memory.private)


def _seeds(f: Frame, like: list[Value], seeds: list[Value], types: list, node: ast.AST) -> list[Atom]:
    """The tangents or adjoints as atoms, one for each float of `like`."""
    wanted = [v for v in like if is_floating(f, v)]
    out: list[Atom] = []
    supply = iter(types)
    for value, given in itertools.zip_longest(wanted, seeds):
        seed = _floating(f, given, True)
        unlike = isinstance(value, StructValue) and not fits(seed, value)
        if unlike or len(scalars(seed)) != len(scalars(value)):
            f.refuse("shape", f"{describe(seed)} cannot be the tangent of {describe(value)}", node)
        out += [f.emit.atom(s, next(supply)) for s in scalars(seed)]
    return out
