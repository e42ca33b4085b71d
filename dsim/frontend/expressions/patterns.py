"""Patterns of `match`: whether a value has the form of one, and what its names stand for then.

The form of a value (its class, the length of a sequence, the keys of a dictionary) is known when the kernel
is compiled, so a pattern that does not fit it is dropped there. What remains are comparisons of numbers.
"""

from __future__ import annotations

import ast
import enum
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import Any

from dsim.frontend.expressions import branches, classes, expressions, subscripts
from dsim.frontend.frames import names
from dsim.frontend.frames.builtins import builtin
from dsim.frontend.frames.frame import Frame
from dsim.frontend.frames.items import items
from dsim.frontend.source.struct_types import StructTypeBase
from dsim.frontend.values.operators import condition
from dsim.frontend.values.values import (
    FieldValue,
    Mat,
    Opaque,
    RecordValue,
    StructFieldValue,
    StructValue,
    Value,
    describe,
    is_scalar,
    listed,
)
from dsim.ir.nodes import Atom, Const, Var
from dsim.records import record


@record
class Matched:
    """The outcome of a pattern: whether it fits, and the values of its names where it does."""

    holds: Atom | bool
    captures: dict[str, tuple[Value, ast.AST]] = field(default_factory=dict)


FAILS = Matched(False)
FITS = Matched(True)


def match(f: Frame, pattern: ast.pattern, value: Value) -> Matched:
    """The outcome of `pattern` for `value`, which is loaded."""
    with f.at(pattern):
        found = _BY_NODE[type(pattern)](f, pattern, value)
    holds = bool(found.holds.value) if isinstance(found.holds, Const) else found.holds
    return Matched(holds, found.captures) if holds is not False else FAILS


def _all(f: Frame, pairs: Sequence[tuple[ast.pattern, Value]]) -> Matched:
    """The outcome of several patterns, all of which must fit."""
    holds: Atom | bool = True
    captures: dict[str, tuple[Value, ast.AST]] = {}
    for pattern, value in pairs:
        found = match(f, pattern, value)
        if found.holds is False:
            return FAILS
        captures |= found.captures
        if isinstance(found.holds, bool):
            continue
        holds = found.holds if holds is True else f.emit.let("band", f.emit.atom(holds), found.holds)
    return Matched(holds, captures)


# ------------------------------------------------------------------ values


def _value(f: Frame, pattern: ast.pattern, value: Value) -> Matched:
    assert isinstance(pattern, ast.MatchValue)
    wanted = f.value(pattern.value)
    if isinstance(value, Mat | StructFieldValue | FieldValue) or isinstance(wanted, Mat):
        help = "index a field, as in `x[i]`; of a vector write the entries, `[a, b]`"
        f.refuse("type", f"{describe(value)} cannot be compared with this", pattern, help=help)
    if is_scalar(value) and isinstance(wanted, Opaque) and isinstance(wanted.value, enum.Enum):
        help = "make it an `enum.IntEnum`, or write `.value`"
        f.refuse("type", f"{describe(value)} never equals a member of an enumeration", pattern, help=help)
    if is_scalar(value) and is_scalar(wanted):
        return Matched(condition(f.emit, expressions.compare(f, ast.Eq(), value, wanted, pattern)))
    if not isinstance(value, str | Opaque) or is_scalar(wanted):
        return FAILS  # Python compares them, too, and they differ
    with f.statically():
        expressions.note(f, value, wanted)
        return Matched(bool(expressions.compare(f, ast.Eq(), value, wanted, pattern)))


def _singleton(f: Frame, pattern: ast.pattern, value: Value) -> Matched:
    """``None``, ``True``, ``False``, which Python compares by identity."""
    assert isinstance(pattern, ast.MatchSingleton)
    if pattern.value is None or value is None:
        return Matched(value is pattern.value)
    if isinstance(value, bool):
        return Matched(value is pattern.value)
    if not isinstance(value, Var | Const) or value.type.kind != "bool":
        if is_scalar(value):
            help = f"write `{int(pattern.value)}`, or compare the number before: `match x != 0:`"
            f.refuse("type", f"{describe(value)} is never `{pattern.value}` itself", pattern, help=help)
        return FAILS
    if isinstance(value, Const):
        return Matched(bool(value.value) is pattern.value)
    return Matched(condition(f.emit, value) if pattern.value else f.emit.let("bnot", value))


def _name(f: Frame, pattern: ast.pattern, value: Value) -> Matched:
    """``_``, a name, or ``pattern as name``."""
    assert isinstance(pattern, ast.MatchAs)
    found = FITS if pattern.pattern is None else match(f, pattern.pattern, value)
    if pattern.name is None or found.holds is False:
        return found
    return Matched(found.holds, {**found.captures, pattern.name: (value, pattern)})


def _alternatives(f: Frame, pattern: ast.pattern, value: Value) -> Matched:
    """``a | b``: the first that fits gives the names their values."""
    assert isinstance(pattern, ast.MatchOr)
    found = FAILS
    for alternative in pattern.patterns:
        if found.holds is True:
            break
        found = _either(f, found, match(f, alternative, value))
    return found


def _either(f: Frame, a: Matched, b: Matched) -> Matched:
    if isinstance(a.holds, bool) or b.holds is False:
        return a if a.holds is not False else b
    first = a.holds
    captures = {
        name: (branches.choose(f, first, lambda v=va: v, lambda n=name: b.captures[n][0], name), at)
        for name, (va, at) in a.captures.items()
    }
    return Matched(True if b.holds is True else f.emit.let("bor", first, f.emit.atom(b.holds)), captures)


# ------------------------------------------------------------------ sequences and dictionaries


def _sequence(f: Frame, pattern: ast.pattern, value: Value) -> Matched:
    assert isinstance(pattern, ast.MatchSequence)
    if isinstance(value, FieldValue | StructFieldValue):
        help = "match one element: `x[i]`"
        f.refuse("type", f"{describe(value)} is no sequence", pattern, help=help)
    held = value.value if isinstance(value, Opaque) else value
    if not isinstance(held, tuple | list | Mat):
        return FAILS
    parts, wanted = items(f, value, pattern), pattern.patterns
    star = next((i for i, p in enumerate(wanted) if isinstance(p, ast.MatchStar)), None)
    if star is None:
        return _all(f, list(zip(wanted, parts, strict=True))) if len(wanted) == len(parts) else FAILS
    after = len(wanted) - star - 1
    if len(parts) < star + after:
        return FAILS
    split = len(parts) - after
    pairs = [*zip(wanted[:star], parts, strict=False), *zip(wanted[star + 1 :], parts[split:], strict=True)]
    found, rest = _all(f, pairs), wanted[star]
    assert isinstance(rest, ast.MatchStar)
    if rest.name is None or found.holds is False:
        return found
    others = parts[star:split] if isinstance(value, Mat) else tuple(parts[star:split])
    return Matched(found.holds, {**found.captures, rest.name: (others, rest)})


def _mapping(f: Frame, pattern: ast.pattern, value: Value) -> Matched:
    assert isinstance(pattern, ast.MatchMapping)
    members = _members(f, value, pattern)
    if members is None:
        return FAILS
    keys = [f.value(key) for key in pattern.keys]
    if not all(key in members for key in keys):
        return FAILS
    found = _all(f, [(p, members[key]()) for key, p in zip(keys, pattern.patterns, strict=True)])
    if pattern.rest is not None:
        help = "name the keys that you need"
        f.refuse("syntax", "kernels have no `**` in patterns", pattern, help=help)
    return found


def _members(f: Frame, value: Value, node: ast.AST) -> Mapping[Any, Callable[[], Value]] | None:
    """The items of a dictionary, or the members of a struct that was made without a type."""
    if isinstance(value, StructValue) and value.kind is None:
        return {key: lambda v=v: v for key, v in value.members.items()}
    if isinstance(value, Opaque) and isinstance(value.value, Mapping):
        return {key: lambda k=key: names.item(f, value, k, node) for key in value.value}
    return None


# ------------------------------------------------------------------ classes


_WHOLE = (bool, int, float, str, tuple, list, dict)  # their one positional pattern is for the value itself


def _class(f: Frame, pattern: ast.pattern, value: Value) -> Matched:
    """``Sphere(center, radius=r)``: the class decides at compile time, its attributes may at run time."""
    assert isinstance(pattern, ast.MatchClass)
    found = classes.listed_classes(f, f.value(pattern.cls))
    if found is None or len(found) != 1:
        what = ast.unparse(pattern.cls)
        help = "`float()`, `int()` and `bool()` tell numbers apart; for a value write it without parentheses"
        f.refuse("type", f"`{what}` is not a class", pattern.cls, help=help)
    kind = found[0]
    if isinstance(value, FieldValue | StructFieldValue):
        help = "match one element: `x[i]`"
        f.refuse("type", f"{describe(value)} has no class that patterns know", pattern, help=help)
    if not _is_one(f, value, kind):
        return FAILS
    if kind in _WHOLE and len(pattern.patterns) == 1 and not pattern.kwd_patterns:
        return match(f, pattern.patterns[0], value)
    wanted = [*_positional(f, pattern, kind), *zip(pattern.kwd_attrs, pattern.kwd_patterns, strict=True)]
    return _all(f, [(p, f.load(_attribute(f, value, name, p))) for name, p in wanted])


def _is_one(f: Frame, value: Value, kind: object) -> bool:
    known = (Mat, StructValue, RecordValue, Opaque, tuple, list, str)
    if not is_scalar(value) and not isinstance(value, known):
        return False
    if isinstance(value, tuple | list):  # its items need not be known
        return isinstance(kind, type) and isinstance(value, kind)
    return classes.is_instance(f, value, [kind])


def _positional(f: Frame, pattern: ast.MatchClass, kind: Any) -> list[tuple[str, ast.pattern]]:
    """The patterns without a name, each with the attribute that it is for."""
    known = kind.keys if isinstance(kind, StructTypeBase) else getattr(kind, "__match_args__", ())
    if builtin(kind) in ("Vector", "Matrix"):
        known = ()
    if len(pattern.patterns) > len(known):
        members = f"its members are {listed(known)}" if known else "write a sequence of patterns, `[x, y]`"
        name = ast.unparse(pattern.cls)
        message = f"`{name}` takes {len(known)} patterns by position, got {len(pattern.patterns)}"
        f.refuse("argument", message, pattern, help=members)
    repeated = set(known[: len(pattern.patterns)]) & set(pattern.kwd_attrs)
    if repeated:
        f.refuse("argument", f"the attribute `{min(repeated)}` has two patterns", pattern)
    return list(zip(known, pattern.patterns, strict=False))


def _attribute(f: Frame, value: Value, name: str, node: ast.AST) -> Value:
    if isinstance(value, StructValue | RecordValue):
        return subscripts.struct_member(f, value, name, node)
    if isinstance(value, Opaque):
        return names.attribute(f, value, name, node)
    f.refuse("unknown-attribute", f"{describe(value)} has no `{name}` that patterns know", node)


_BY_NODE: dict[type, Callable[[Frame, Any, Value], Matched]] = {
    ast.MatchValue: _value,
    ast.MatchSingleton: _singleton,
    ast.MatchAs: _name,
    ast.MatchOr: _alternatives,
    ast.MatchSequence: _sequence,
    ast.MatchMapping: _mapping,
    ast.MatchClass: _class,
}
