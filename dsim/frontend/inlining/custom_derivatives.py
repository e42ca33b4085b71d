"""Funcs with custom derivatives: a call of one becomes a `Call`, which holds its rules.

The func and its rules are lowered as blocks over parameters, one for each float argument. Everything else
that they read counts as constant. This file neither differentiates nor compares the rules.
"""

from __future__ import annotations

import ast
import types
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, NoReturn

from dsim.diagnostics import Span
from dsim.frontend.frames.frame import Frame
from dsim.frontend.frames.scope import DRAWS
from dsim.frontend.source.problems import RefusedError
from dsim.frontend.source.source import read
from dsim.frontend.values.structure import fits, labels, rebuilt, same, scalars
from dsim.frontend.values.values import Value, describe, is_open, kind_of
from dsim.ir.nodes import Accumulate, Atom, Block, Call, Print, Rule, Statement, Store, Var
from dsim.ir.walk import statements

ORDERS = 3  # how often a rule that calls its own func is expanded inside itself


@dataclass(frozen=True, eq=False)
class Rules:
    """The custom derivative of a func: one func or two, by the protocol of funcs.

    Attributes
    ----------
    jvp : func or None
        ``(*args, *tangents of the float args) -> tangents of the float results``.
    vjp : func or None
        ``(*args, *adjoints of the float results) -> adjoints of the float args``.
    tangents, adjoints : int
        How many tangents `jvp` takes, and how many adjoints `vjp`.
    checked : bool
        Whether the rules are compared with each other when a kernel that uses them is compiled.
    """

    jvp: Any = None
    vjp: Any = None
    tangents: int = 0
    adjoints: int = 0
    checked: bool = True


@dataclass(frozen=True)
class _Method:
    """A rule that is a method, bound, by the protocol of funcs."""

    __dsim_func__: types.MethodType
    __dsim_rules__: Rules | None = None


class Called(NamedTuple):
    """A func with rules at a call: `names` and `values` of its arguments in the order of its signature.

    `owner` holds the object of a method; `body` lowers the func for other values of the arguments;
    `where` is its definition.
    """

    name: str
    rules: Rules
    owner: tuple[Any, ...]
    names: Sequence[str]
    values: Sequence[Value]
    body: Callable[[list[Value]], Value]
    where: Span


def call(f: Frame, called: Called, node: ast.AST, hint: str) -> Value:
    """The value of a func with rules."""
    e = f.emit
    values = _promoted(f, called, node)
    floats = [i for i, v in enumerate(values) if is_floating(f, v)]
    args = [e.atom(s) for i in floats for s in scalars(values[i])]
    types_ = [a.type for a in args]
    made = _Arguments(f, called.names, values, floats, types_)
    params, inside = made.fresh("")
    drawn = f.scope.values[DRAWS]
    with e.builder.block() as found, f.c.watches.pause():
        result = called.body(inside)
        if isinstance(result, list):
            raise RefusedError
        yields = tuple(e.atom(s) for s in scalars(result))
    body = Block(tuple(found), yields)
    _refuse_effects(f, called, body, drawn, node)
    rules: dict[str, Rule | None] = {"jvp": None, "vjp": None}
    if args and any(y.type.is_float for y in yields) and f.c.deriving.count(called.rules) < ORDERS:
        rules = _rules(f, called, made, rebuilt(result, iter(yields)), node)
    names = labels(hint if hint != "t" else "result", result)
    results = tuple(e.builder.fresh(h, y.type) for h, y in zip(names, yields, strict=True))
    e.builder.add(
        Call(
            called.name,
            params,
            body,
            tuple(args),
            results,
            rules["jvp"],
            rules["vjp"],
            called.where,
            called.rules.checked,
            e.builder.origin,
        )
    )
    return rebuilt(result, iter(results))


def is_floating(f: Frame, value: Value) -> bool:
    """Whether `value` consists of floats only, and has any."""
    floats = [f.emit.type_of(s).is_float for s in scalars(value)]
    if any(floats) and not all(floats):
        f.emit.refuse(
            "not-differentiable",
            f"{describe(value)} holds floats and integers: a derivative by it is not defined",
            help="pass its floats as arguments of their own",
        )
    return all(floats) and bool(floats)


def _promoted(f: Frame, called: Called, node: ast.AST) -> list[Value]:
    """The arguments; numbers without a type are floats where the jvp has tangents for them."""
    values = list(called.values)
    if called.rules.jvp is None or _floats(f, values) in (0, called.rules.tangents):
        return values
    other = [_opened(f, v) for v in values]
    if _floats(f, other) != called.rules.tangents:
        jvp = called.rules.jvp.__name__
        f.refuse(
            "not-differentiable",
            f"`{jvp}` takes {called.rules.tangents} tangents, but `{called.name}` has {_floats(f, values)} "
            "float arguments here",
            node,
            help=f"pass floats, or annotate the parameters of `{called.name}`",
        )
    return other


def _opened(f: Frame, value: Value) -> Value:
    """`value` as floats, where its numbers have no type yet."""
    found = scalars(value)
    if not all(is_open(s) and kind_of(s) is not bool for s in found):
        return value
    return rebuilt(value, iter([f.emit.atom(s, f.emit.settings.default_fp) for s in found]))


def _floats(f: Frame, values: Sequence[Value]) -> int:
    return sum(is_floating(f, v) for v in values)


class _Arguments(NamedTuple):
    """The arguments of a call, of which the `floats` become parameters of `types`."""

    f: Frame
    names: Sequence[str]
    values: Sequence[Value]
    floats: Sequence[int]
    types: Sequence[Any]

    def fresh(self, suffix: str) -> tuple[tuple[Var, ...], list[Value]]:
        """Parameters for the floats, and all arguments with these in their places."""
        b, types_ = self.f.emit.builder, iter(self.types)
        params: list[Var] = []
        inside = list(self.values)
        for i in self.floats:
            names = labels(f"{self.names[i]}{suffix}", self.values[i])
            own = [b.fresh(name, next(types_)) for name in names]
            params += own
            inside[i] = rebuilt(self.values[i], iter(own))
        return tuple(params), inside


def _rules(
    f: Frame, called: Called, made: _Arguments, result: Value, node: ast.AST
) -> dict[str, Rule | None]:
    """Both rules, lowered independently of the functions being inlined around them."""
    active, f.c.active = f.c.active, ()
    f.c.deriving = (*f.c.deriving, called.rules)
    try:
        return {
            mode: None if rule is None else _rule(f, called, mode, rule, made, result, node)
            for mode, rule in (("jvp", called.rules.jvp), ("vjp", called.rules.vjp))
        }
    finally:
        f.c.active, f.c.deriving = active, f.c.deriving[:-1]


def _rule(
    f: Frame, called: Called, mode: str, rule: Any, made: _Arguments, result: Value, node: ast.AST
) -> Rule:
    e = f.emit
    parts = [v for v in (result if isinstance(result, tuple) else (result,)) if is_floating(f, v)]
    params, inside = made.fresh("")
    if mode == "jvp":
        seeds, all_ = made.fresh("_dot")
        given = [all_[i] for i in made.floats]
        wanted = parts
    else:
        _refuse_count(f, called, len(parts), node)
        seeds, given = _adjoints(f, parts)
        wanted = [made.values[i] for i in made.floats]
    results = tuple(
        e.builder.fresh(h, e.type_of(a))
        for h, a in zip(labels("result", result), scalars(result), strict=True)
    )
    keywords = {"result": rebuilt(result, iter(results))} if takes_result(rule) else {}
    drawn = f.scope.values[DRAWS]
    bound = _bound(rule, called.owner)
    with e.builder.block() as found, f.c.watches.pause():
        value = f.invoke(bound, [*inside, *given], keywords, node)
        yields = _yields(f, called, mode, bound, wanted, value)
    body = Block(tuple(found), yields)
    _refuse_effects(f, called, body, drawn, node)
    _refuse_print(f, called, body)
    return Rule((*params, *seeds, *results), body, _span(bound))


def _refuse_count(f: Frame, called: Called, results: int, node: ast.AST) -> None:
    adjoints = called.rules.adjoints
    if adjoints != results:
        takes = "1 adjoint" if adjoints == 1 else f"{adjoints} adjoints"
        f.refuse(
            "not-differentiable",
            f"`{called.rules.vjp.__name__}` takes {takes}, but `{called.name}` has {results} float results "
            "here",
            node,
            help="the arguments and then an adjoint for each float result",
        )


def _bound(rule: Any, owner: tuple[Any, ...]) -> Any:
    """`rule` as a method of what the func is a method of."""
    python = rule.__dsim_func__
    if not owner or isinstance(python, types.MethodType):
        return rule
    return _Method(types.MethodType(python, owner[0]), getattr(rule, "__dsim_rules__", None))


def takes_result(rule: Any) -> bool:
    """Whether `rule` has the parameter that receives the func's result."""
    code = rule.__dsim_func__.__code__
    count = code.co_argcount
    return "result" in code.co_varnames[count : count + code.co_kwonlyargcount]


def _adjoints(f: Frame, parts: Sequence[Value]) -> tuple[tuple[Var, ...], list[Value]]:
    """Parameters for the adjoints of the results `parts`, and those in the shapes of these."""
    seeds: list[Var] = []
    given: list[Value] = []
    for part in parts:
        own = [
            f.emit.builder.fresh(h, f.emit.type_of(s))
            for h, s in zip(labels("result_bar", part), scalars(part), strict=True)
        ]
        seeds += own
        given.append(rebuilt(part, iter(own)))
    return tuple(seeds), given


def _yields(
    f: Frame, called: Called, mode: str, rule: Any, wanted: Sequence[Value], value: Value
) -> tuple[Atom, ...]:
    """The values that a rule returned, as atoms of the required types."""
    if isinstance(value, list):
        raise RefusedError
    parts = value if isinstance(value, tuple) and len(wanted) != 1 else (value,)
    if len(parts) != len(wanted) or not all(map(_alike, parts, wanted)):
        what = ("tangent", "float result") if mode == "jvp" else ("adjoint", "float argument")
        due = ", ".join(map(describe, wanted))
        got = ", ".join(map(describe, parts))
        _refuse_rule(
            f,
            rule,
            f"this returns {got}; expected: the {what[0]} of each {what[1]} of `{called.name}`: {due}",
            "return them in the order of the " + ("results" if mode == "jvp" else "arguments"),
        )
    atoms: list[Atom] = []
    for part, like in zip(parts, wanted, strict=True):
        for s, t in zip(scalars(part), scalars(like), strict=True):
            atoms.append(f.emit.atom(s, f.emit.type_of(t)))
    return tuple(atoms)


def _alike(a: Value, b: Value) -> bool:
    return fits(a, b) and bool(scalars(a))


def _refuse_rule(f: Frame, rule: Any, message: str, help: str) -> NoReturn:
    f.emit.refuse("not-differentiable", message, help=help, span=_span(rule))


def _span(func: Any) -> Span:
    """The span of the name of an inlined func."""
    python = func.__dsim_func__
    return read(getattr(python, "__func__", python)).name_span()


def _refuse_effects(f: Frame, called: Called, body: Block, drawn: Value, node: ast.AST) -> None:
    if not same(f.scope.values[DRAWS], drawn):
        f.refuse(
            "not-differentiable",
            f"`{called.name}` has a custom derivative, and cannot draw random numbers",
            node,
            help="pass the random number as an argument",
        )
    for s in _effects(body, Store | Accumulate):
        if not s.memory.private:  # type: ignore[union-attr]
            f.emit.refuse(
                "not-differentiable",
                f"`{called.name}` has a custom derivative, and cannot write to fields",
                "written here",
                help="return the value and write it in the kernel",
                span=s.origin.span,
            )


def _refuse_print(f: Frame, called: Called, body: Block) -> None:
    for s in _effects(body, Print):
        f.emit.refuse(
            "not-differentiable",
            f"the derivative of `{called.name}` cannot print",
            help="print in the kernel",
            span=s.origin.span,
        )


def _effects(body: Block, kind: Any) -> Iterator[Statement]:
    return (s for s in statements(body) if isinstance(s, kind))
