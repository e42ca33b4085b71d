"""Indices into vectors and matrices: constants, slices, and integers known at run time.

An index selects, for each scalar of the result, its candidate entries: one when everything is
constant, else several, each under a condition.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from itertools import product

from dsim.frontend.values.emit import Emitter
from dsim.frontend.values.values import (
    Element,
    Mat,
    Scalar,
    Shape,
    Value,
    describe,
    describe_shape,
    is_number,
    is_scalar,
)
from dsim.ir.build import index
from dsim.ir.nodes import Atom, Const, Var
from dsim.ir.types import i32
from dsim.records import record

_LONGEST = 40  # characters of an expression by which a message calls a value


@record
class Part:
    """Some of the entries of a vector or matrix.

    Attributes
    ----------
    shape : tuple of int
        The shape of what is picked.
    picks : tuple
        For each scalar of it, the places (index tuples whose run-time axes are None) that are meant.
    dynamic : tuple of (int, Atom)
        Axes indexed at run time, and by what.
    """

    shape: Shape
    picks: tuple[tuple[int | None, ...], ...]
    dynamic: tuple[tuple[int, Atom], ...] = ()


def integer(e: Emitter, value: Value) -> int | Atom:
    """`value` as an index: a Python int, or an integer atom."""
    if isinstance(value, int):
        return int(value)
    if isinstance(value, Const) and not value.type.is_float:
        return int(value.value)
    if not is_scalar(value):
        e.refuse("index", f"{describe(value)} cannot be an index")
    if e.type_of(value).is_float:
        e.refuse("index", "a float cannot be an index", help="cast it to an integer first: `int(a)`")
    return e.number(value)


def nearest(e: Emitter, at: Atom, length: int) -> Atom:
    """`at`, or the first or last index when it lies outside."""
    if isinstance(at, Const):
        return Const(min(max(int(at.value), 0), length - 1), i32)
    at = wide(e, at)
    return e.let("max", e.let("min", at, Const(length - 1, at.type)), Const(0, at.type))


def wide(e: Emitter, at: Atom) -> Atom:
    """`at` in a type that holds the indices of a field."""
    return e.atom(at, i32) if at.type.bits < 32 else at


def part(
    e: Emitter, shape: Shape, indices: Sequence[Value], what: str | ast.expr, clamped: bool = False
) -> Part:
    """What `indices` (scalars, slices, lists of places) pick of something of `shape`, called `what`.

    An expression is called by its text. With `clamped`, an index outside means the nearest one.
    """
    if len(indices) > len(shape):
        e.refuse("index", f"{_called(what)} is {describe_shape(shape)}, got {len(indices)} indices")
    choices: list[list[int | None]] = []
    kept: list[int] = []
    dynamic: list[tuple[int, Atom]] = []
    for axis, length in enumerate(shape):
        given = indices[axis] if axis < len(indices) else slice(None)
        if isinstance(given, slice | list):  # a list names entries: a swizzle
            choices.append(list(range(length)[_constant(e, given)]) if isinstance(given, slice) else [*given])
            kept.append(len(choices[-1]))
            continue
        at = integer(e, given)
        if not isinstance(at, int):
            choices.append([None])
            dynamic.append((axis, nearest(e, at, length) if clamped else at))
        elif clamped:
            choices.append([min(max(at, 0), length - 1)])
        else:
            _inside(e, at, length, shape, what)
            choices.append([at])
    return Part(tuple(kept), tuple(product(*choices)), tuple(dynamic))


def _constant(e: Emitter, given: slice) -> slice:
    bounds = (given.start, given.stop, given.step)
    if not all(b is None or isinstance(b, int) for b in bounds):
        e.refuse("index", "the bounds of a slice must be known at compile time")
    return given


def _inside(e: Emitter, at: int, length: int, shape: Shape, what: str | ast.expr) -> None:
    if not 0 <= at < length:
        note = "write the index from the start" if at < 0 else f"the last one is {length - 1}"
        e.refuse("index", f"index {at} is outside {_called(what)}, {describe_shape(shape)}", help=note)


def _called(what: str | ast.expr) -> str:
    if isinstance(what, str):
        return what
    text = ast.unparse(what)
    return f"`{text}`" if len(text) <= _LONGEST else "this"


def candidates(
    e: Emitter, shape: Shape, p: Part, pick: tuple[int | None, ...]
) -> list[tuple[tuple[int, ...], Atom | None]]:
    """The places that one scalar of `p` may be, each with the condition under which it is."""
    axes = [range(n) if at is None else (at,) for at, n in zip(pick, shape, strict=True)]
    found: list[tuple[tuple[int, ...], Atom | None]] = []
    for place in product(*axes):
        cond: Atom | None = None
        for axis, atom in p.dynamic:
            here = e.let("eq", atom, Const(place[axis], atom.type))
            cond = here if cond is None else e.let("band", cond, here)
        found.append((place, cond))
    return found


def offset(shape: Shape, place: tuple[int, ...]) -> int:
    """The position of `place` in row order."""
    n = 0
    for at, length in zip(place, shape, strict=True):
        n = n * length + at
    return n


def pick(e: Emitter, m: Mat, p: Part, hint: str = "t") -> Value:
    """The entries `p` of `m`."""
    entries = tuple(_read(e, m, p, one, hint) for one in p.picks)
    return Mat(p.shape, entries) if p.shape else entries[0]


def _read(e: Emitter, m: Mat, p: Part, one: tuple[int | None, ...], hint: str) -> Scalar:
    if not p.dynamic:
        return m.entries[offset(m.shape, one)]  # type: ignore[arg-type]
    found = candidates(e, m.shape, p, one)
    t = e.common(m.entries)
    value = e.atom(m.entries[offset(m.shape, found[-1][0])], t)
    for place, cond in reversed(found[:-1]):
        assert cond is not None
        value = e.let("select", cond, e.atom(m.entries[offset(m.shape, place)], t), value, hint=hint)
    return value


def replaced(e: Emitter, m: Mat, p: Part, values: Sequence[Scalar], names: Sequence[str]) -> Mat:
    """`m` with the entries `p` replaced by `values`; `names` are those of all of its scalars."""
    entries = list(m.entries)
    for one, value in zip(p.picks, values, strict=True):
        for place, cond in candidates(e, m.shape, p, one):
            at = offset(m.shape, place)
            old = entries[at]
            t = e.type_of(old)
            new = e.atom(value, t)
            entries[at] = new if cond is None else e.let("select", cond, new, e.atom(old, t), hint=names[at])
    return Mat(m.shape, tuple(entries))


def pick_element(x: Element, p: Part) -> Element:
    """The entries `p` of the element `x` (all of an element, when an index is known at run time only)."""
    atoms = dict(p.dynamic)
    by_place = dict(zip(product(*(range(n) for n in x.shape)), x.entries, strict=True))
    entries = []
    for one in p.picks:
        if not p.dynamic:
            entries.append(by_place[one])  # type: ignore[index]
        else:
            entries.append(tuple(atoms[a] if at is None else index(at) for a, at in enumerate(one)))
    return Element(x.memory, x.index, p.shape, tuple(entries), x.clamped)


def is_whole(x: Element) -> bool:
    """Whether `x` means all entries of its element, in order."""
    lengths = x.memory.shape[len(x.memory.shape) - x.memory.entry_axes :]
    if x.shape != lengths or not x.entries:
        return False
    places = product(*(range(n) for n in x.shape))
    return x.entries == tuple(tuple(index(i) for i in at) for at in places)


def in_range(at: int | Atom, length: int, ranges: dict[Var, tuple[int, int]]) -> bool:
    """Whether `at` is known to lie in ``[0, length)``."""
    if is_number(at):
        return 0 <= at < length  # type: ignore[operator]
    low, high = ranges.get(at, (-1, length)) if isinstance(at, Var) else (-1, length)
    return low >= 0 and high < length
