"""Iterating at compile time: the items of `static` loops and list comprehensions."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from math import prod
from typing import NoReturn

import numpy as np

from dsim.frontend.frames import names
from dsim.frontend.frames.frame import Frame
from dsim.frontend.source.problems import RefusedError, asked
from dsim.frontend.values.values import Grid, Mat, Opaque, Range, Unrolled, Value, describe
from dsim.ir.nodes import Const
from dsim.ir.ranges import length

MOST_TRIPS = 20_000  # of a unrolled loop
MOST_COPIES = 30_000  # of the unrolled bodies of a kernel: seconds to compile


def items(f: Frame, value: Value, node: ast.AST) -> list[Value]:
    """The items of `value`, each a value of its own; refused where they are not known at compile time."""
    if isinstance(value, Unrolled):
        return list(value.items)
    if isinstance(value, tuple | list):
        return list(value)
    if isinstance(value, Mat):
        return list(value.rows() if len(value.shape) == 2 else value.entries)
    if isinstance(value, Range):
        return list(_range(f, value, node))
    if isinstance(value, Grid):
        return _grid(f, value, node)
    if isinstance(value, Opaque):
        return _of_object(f, value, node)
    f.refuse("static", f"{describe(value)} cannot be iterated over at compile time", node)


def copies(f: Frame, count: int, node: ast.AST) -> None:
    """Counts `count` more copies of a loop body; refused where the kernel becomes too long.

    After a refusal nothing more is unrolled.
    """
    if too_long(f):
        raise RefusedError  # and noted
    f.c.copies += count
    if too_long(f):
        message = f"the static loops of this kernel unroll to more than {MOST_COPIES} times in all"
        advice = "remove `static` from the outer loops: run-time loops are not unrolled"
        f.refuse("limit", message, node, help=advice)


def too_long(f: Frame) -> bool:
    """Whether a loop was refused because it makes the kernel too long."""
    return f.c.copies > MOST_COPIES


def known(f: Frame, value: Value, node: ast.AST) -> int:
    """An integer that must be known at compile time."""
    if isinstance(value, Const) and value.type.is_integer:
        return int(value.value)
    if not isinstance(value, int):
        f.refuse("static", f"this must be known at compile time, but is {describe(value)}", node)
    return int(value)


def _range(f: Frame, r: Range, node: ast.AST) -> range:
    found = range(*(known(f, s, node) for s in (r.start, r.stop, r.step)))
    _few(f, length(found.start, found.stop, found.step), node)
    return found


def _few(f: Frame, trips: int, node: ast.AST) -> None:
    if trips > MOST_TRIPS:
        message = f"this loop would be unrolled {trips} times; {MOST_TRIPS} is the most"
        f.refuse("limit", message, node, help="remove `static`: run-time loops are not unrolled")


def _grid(f: Frame, grid: Grid, node: ast.AST) -> list[Value]:
    axes = [_range(f, axis, node) for axis in grid.axes]
    _few(f, prod(map(len, axes)), node)
    out: list[Value] = [()]
    for axis in axes:
        out = [(*at, i) for at in out for i in axis]
    if grid.grouped or len(grid.axes) != 1:
        return [Mat((len(at),), at) for at in out] if grid.grouped else out
    return [at[0] for at in out]


def _of_object(f: Frame, value: Opaque, node: ast.AST) -> list[Value]:
    found = value.value
    if isinstance(found, Mapping | set | frozenset) or not hasattr(found, "__iter__"):
        if not isinstance(found, Mapping):
            f.refuse("static", f"{describe(value)} cannot be iterated over", node)
        return [names.imported(f, k, None, node) for k in found]
    if isinstance(found, np.ndarray):
        if value.path is not None:
            f.c.captures.constant(value.path, found)
        found = found.tolist()
    elif isinstance(found, Iterator) and value.path is not None:
        message = f"`{value.path.text}` can be iterated over only once"
        f.refuse("static", message, node, help="make a list of it outside the kernel")
    elif not isinstance(found, list | tuple | range):
        found = _listed(f, value, node)
        if value.path is not None:
            f.c.captures.items(value.path, found)
    return [_item(f, i, v, value, node) for i, v in enumerate(found)]


def _listed(f: Frame, value: Opaque, node: ast.AST) -> list[object]:
    """What iterating over a person's object gives."""

    def refuse(why: str) -> NoReturn:
        f.refuse("static", f"{describe(value)} cannot be iterated over: {why}", node)

    return asked(lambda: list(value.value), refuse)


def _item(f: Frame, i: int, value: object, owner: Opaque, node: ast.AST) -> Value:
    sequence = owner.path is not None and isinstance(owner.value, list | tuple)
    item = names.imported(f, value, owner.path.item(i) if sequence and owner.path else None, node)
    if isinstance(item, Opaque) and isinstance(item.value, list | tuple):
        return tuple(items(f, item, node))
    return item


def comprehension(f: Frame, node: ast.ListComp) -> list[Value]:
    """A list comprehension, unrolled: its iterables must be known at compile time."""
    outer, out = dict(f.scope.values), list[Value]()
    own = {n.id for g in node.generators for n in ast.walk(g.target) if isinstance(n, ast.Name)}
    f.scope.items |= own
    f.scope.comprehensions.append({})
    _nested(f, node, 0, out)
    f.scope.comprehensions.pop()
    f.scope.items -= own
    inner = f.scope.values
    f.scope.values = {name: v if name in own else inner.get(name, v) for name, v in outer.items()}
    return out


def _nested(f: Frame, node: ast.ListComp, depth: int, out: list[Value]) -> None:
    if depth == len(node.generators):
        out.append(f.value(node.elt))
        return
    generator = node.generators[depth]
    found = items(f, f.value(generator.iter), generator.iter)
    copies(f, len(found), generator.iter)
    for value in found:
        bind_target(f, generator.target, value)
        targets = (n.id for n in ast.walk(generator.target) if isinstance(n, ast.Name))
        f.scope.comprehensions[-1].update({name: f.scope.values[name] for name in targets})
        if all(_holds(f, test) for test in generator.ifs):
            _nested(f, node, depth + 1, out)


def _holds(f: Frame, test: ast.expr) -> bool:
    value = f.value(test)
    value = value.value if isinstance(value, Const) else value
    if not isinstance(value, int | float):
        f.refuse("static", "the condition of a list comprehension must be known at compile time", test)
    return bool(value)


def bind_target(f: Frame, target: ast.expr, value: Value) -> None:
    """Binds the target of an unrolled loop to `value`."""
    if isinstance(target, ast.Name):
        f.bind(target.id, value, target)
        return
    if not isinstance(target, ast.Tuple | ast.List):
        f.refuse("syntax", "a loop's target is a name, or several names", target)
    parts = items(f, value, target) if not isinstance(value, tuple | list) else list(value)
    if len(parts) != len(target.elts):
        f.refuse("argument", f"{len(target.elts)} names for {len(parts)} values", target)
    for t, v in zip(target.elts, parts, strict=True):
        bind_target(f, t, v)
