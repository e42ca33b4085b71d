"""Locals of a plain Python function that share a list, a vector, a dictionary or a struct.

To Python ``q = m`` is another name for the same list. Here locals are values: what changes one of them leaves
the other as it was. So a change of what may have two names is refused. The search goes by the text alone:
which statement may have given the second name, and whether one after that gives either of them a new value.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from functools import lru_cache

from dsim.frontend.frames.frame import Frame
from dsim.frontend.values.values import Element, Mat, RecordValue, StructValue, Value
from dsim.records import record

_LOOPS = (ast.For, ast.While)
_CHANGEABLE = (Mat, Element, StructValue, RecordValue, list)
_SHARED = (*_CHANGEABLE, tuple)
_DEFAULT = "the default of "
_COMPONENTS = frozenset("xyzwrgbastpq")


@record(eq=False)
class _At:
    """A statement, and its number in its block."""

    statement: ast.stmt
    block: list[ast.stmt]
    number: int


Place = tuple[_At, ...]  # the statements around a place, the outermost first


def refuse_shared(f: Frame, name: str, node: ast.AST) -> None:
    """Refuses to change `name` in place where Python would change what another name means, too."""
    if not f.plain or not isinstance(f.scope.values.get(name), _CHANGEABLE):
        return
    other = next(_others(f, name, node), None)
    if other is not None:
        f.refuse(
            "type",
            f"`{name}` may be the same object as {other}: changing it here would change one of them only",
            node,
            help=_help(name, f.scope.values[name]),
        )


def _help(name: str, value: Value) -> str:
    if isinstance(value, Mat | Element) and len(value.shape) == 1:
        return f"copy it before: `{name} = {name}[:]`"
    return f"make `{name}` of its parts before: what has one name only may be changed"


def note_returned(f: Frame, name: str, value: Value, node: ast.AST) -> None:
    """Notes that ``name = call(…)`` gives `name` the value of another local, or an object that holds it."""
    if f.plain and isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
        held = [v for v in (value, *_parts(value)) if isinstance(v, _SHARED)]
        others = [n for n in f.scope.visible() if n != name and any(f.scope.values[n] is v for v in held)]
        f.scope.returned += [(name, other, node) for other in others]


@record
class _Sharing:
    """A statement after which `target` may be the object that `source` is, or hold it.

    Where `parts` is true, it is or holds parts of that only: of a list of numbers these are numbers.
    """

    target: str
    source: str
    place: Place
    parts: bool = False


def _others(f: Frame, name: str, node: ast.AST) -> Iterator[str]:
    """What may be the same object as `name` when `node` changes it, or hold it."""
    text, values = _text(f.text.node), f.scope.values
    here = text.places.get(id(node))
    if here is None:
        return
    returned = [(a, b, text.places.get(id(at))) for a, b, at in f.scope.returned]
    shared = [*text.sharings, *(_Sharing(a, b, at) for a, b, at in returned if at is not None)]
    shared = _closed([s for s in shared if not s.parts or _has_shared_parts(values.get(s.source))])
    for s in shared:
        names = {s.target, s.source}
        if name not in names or len(names) < 2 or not _reaches(s, here):
            continue
        (other,) = names - {name}
        is_default = other.startswith(_DEFAULT)
        if not is_default and not isinstance(values.get(other), _SHARED):
            continue
        kept = [t.place for t in shared if {t.target, t.source} <= names]
        renewed = (at for bound, at in text.bound if bound in names and at not in kept)
        if not any(_between(s.place, at, here) for at in renewed):
            yield other if is_default else f"`{other}`"


def _closed(sharings: list[_Sharing]) -> list[_Sharing]:
    """Those, and what follows: after ``q = m`` and ``r = q``, `r` may be `m`."""
    found = dict.fromkeys(sharings)
    new = sharings
    while new:
        new = [
            s
            for a in found
            for b in sharings
            if a.source == b.target and a.target != b.source and _reaches(b, a.place)
            for s in (_Sharing(a.target, b.source, a.place),)
            if s not in found
        ]
        found.update(dict.fromkeys(new))
    return list(found)


@record(eq=False)
class _Text:
    """What the text of a function says.

    Attributes
    ----------
    places : dict
        Where its statements and expressions stand, by their identities.
    bound : list of (str, Place)
        The names that get values, and where.
    """

    sharings: list[_Sharing]
    places: dict[int, Place]
    bound: list[tuple[str, Place]]


@lru_cache(maxsize=64)
def _text(function: ast.FunctionDef) -> _Text:
    statements = list(_statements(function.body, ()))
    places = {id(statement): place for statement, place in statements}
    for statement, place in statements:
        for child in ast.iter_child_nodes(statement):
            if not isinstance(child, ast.stmt):
                places.update((id(node), place) for node in ast.walk(child))
    sharings = [s for statement, place in statements for s in _sharings(statement, place)]
    return _Text(sharings, places, [(n, place) for statement, place in statements for n in _bound(statement)])


def _has_shared_parts(value: Value) -> bool:
    """Whether a part of `value` is an object of its own, and no number."""
    if isinstance(value, Mat | Element):
        return len(value.shape) > 1
    return any(isinstance(part, _SHARED) for part in _parts(value))


def _parts(value: Value) -> Iterable[Value]:
    if isinstance(value, StructValue | RecordValue):
        return value.members.values()
    return value if isinstance(value, tuple | list) else ()


def _reaches(s: _Sharing, here: Place) -> bool:
    """Whether a statement may run before what is `here`: it stands before it, or in a loop around it."""
    return _position(s.place) <= _position(here) or bool(_loops(s.place) & _loops(here))


def _between(before: Place, place: Place, here: Place) -> bool:
    """Whether what stands at `place` always runs after `before` and before what is `here`."""
    last = place[-1]
    if not any(at.block is last.block and at.number > last.number for at in here):
        return False
    if _position(before) < _position(place):
        return True
    again = _position(here) < _position(before)  # in the next turn of a loop around both
    return again and _loops(before) & _loops(here) <= _loops(place)


def _loops(place: Place) -> set[ast.stmt]:
    return {at.statement for at in place if isinstance(at.statement, _LOOPS)}


def _position(place: Place) -> tuple[int, int]:
    return place[-1].statement.lineno, place[-1].statement.col_offset


def _statements(block: list[ast.stmt], around: Place) -> Iterator[tuple[ast.stmt, Place]]:
    """The statements of a block, and those inside of them, but of functions."""
    for number, statement in enumerate(block):
        place = (*around, _At(statement, block, number))
        yield statement, place
        if not isinstance(statement, ast.FunctionDef | ast.ClassDef):
            inner = [getattr(statement, name, []) for name in ("body", "orelse", "finalbody")]
            inner += [case.body for case in getattr(statement, "cases", [])]
            for each in inner:
                yield from _statements(each, place)


def _bound(statement: ast.stmt) -> Iterator[str]:
    """The names that a statement gives values of their own."""
    if isinstance(statement, ast.Assign):
        for target in statement.targets:
            yield from (
                n.id for n in ast.walk(target) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
            )
    elif isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
        yield statement.target.id


def _sharings(statement: ast.stmt, place: Place) -> Iterator[_Sharing]:
    if isinstance(statement, ast.Assign):
        names = [t.id for t in statement.targets if isinstance(t, ast.Name)]
        for target in statement.targets:
            yield from _pairs(target, statement.value, place)
        yield from (_Sharing(name, names[0], place) for name in names[1:])
    elif isinstance(statement, ast.AnnAssign) and statement.value is not None:
        yield from _pairs(statement.target, statement.value, place)
    for child in ast.iter_child_nodes(statement):
        if isinstance(child, ast.stmt):
            continue
        for node in ast.walk(child):
            if isinstance(node, ast.NamedExpr):
                yield from _pairs(node.target, node.value, place)
            if isinstance(node, ast.Lambda):
                yield from _defaults("a `lambda`", node.args, place)
    if isinstance(statement, ast.FunctionDef):
        yield from _defaults(f"`{statement.name}`", statement.args, place)


def _defaults(owner: str, args: ast.arguments, place: Place) -> Iterator[_Sharing]:
    for default in (*args.defaults, *args.kw_defaults):
        if default is not None:
            yield from (_Sharing(_DEFAULT + owner, n, place, parts) for n, parts in _sources(default))


def _pairs(target: ast.expr, value: ast.expr, place: Place) -> Iterator[_Sharing]:
    if isinstance(target, ast.Name):
        yield from (_Sharing(target.id, n, place, parts) for n, parts in _sources(value))
    elif isinstance(target, ast.Tuple | ast.List):
        values = value.elts if isinstance(value, ast.Tuple | ast.List) else [value] * len(target.elts)
        names = [t.id if isinstance(t, ast.Name) else "" for t in target.elts]
        if {v.id if isinstance(v, ast.Name) else None for v in values} != set(names):  # they change places
            for inner, one in zip(target.elts, values, strict=False):
                yield from _pairs(inner, one, place)


def _sources(value: ast.expr, parts: bool = False) -> Iterator[tuple[str, bool]]:
    """The locals that `value` may be or hold; and whether it is `parts` of them only."""
    match value:
        case ast.Name(id=name):
            yield name, parts
        case ast.IfExp(body=body, orelse=orelse):
            yield from _sources(body, parts)
            yield from _sources(orelse, parts)
        case ast.NamedExpr(target=target):
            yield target.id, parts
        case ast.BoolOp(values=several) | ast.Tuple(elts=several) | ast.List(elts=several):
            for each in several:
                yield from _sources(each, parts)
        case ast.Dict(values=several):
            for each in several:
                yield from _sources(each, parts)
        case ast.Starred(value=owner) | ast.Subscript(value=owner):
            yield from _sources(owner, True)
        case ast.Attribute(value=owner, attr=attr) if not _COMPONENTS.issuperset(attr):
            yield from _sources(owner, True)
