"""Loops: counted ones as nested `For`s, `while`, and unrolled ones."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import NoReturn

from dsim.frontend.control import carrying, loop_ranges
from dsim.frontend.control.exits import assigned, breaks
from dsim.frontend.expressions import logic
from dsim.frontend.expressions.branches import choose, fork
from dsim.frontend.expressions.elements import store
from dsim.frontend.frames.frame import Frame, Nest
from dsim.frontend.frames.items import bind_target, copies, items, known, too_long
from dsim.frontend.frames.names import member_field
from dsim.frontend.frames.scope import DRAWS, LIVE, RETURNED
from dsim.frontend.inlining import struct_methods
from dsim.frontend.source.captures import is_layout_node
from dsim.frontend.values.structure import same
from dsim.frontend.values.values import (
    FieldValue,
    Grid,
    Mat,
    Opaque,
    Range,
    StructFieldValue,
    Value,
    describe,
)
from dsim.ir.build import FALSE, TRUE, const, index
from dsim.ir.nodes import Atom, Block, For, Var, While
from dsim.ir.types import ScalarType


def _new_go(f: Frame) -> str:
    """The name of the flag of a new loop."""
    f.c.loop_number += 1
    return f"#goes_on {f.c.loop_number}"


def _changed(f: Frame, body: Sequence[ast.stmt]) -> list[str]:
    """The locals that a loop's body may change."""
    return list(dict.fromkeys((*assigned(body), *struct_methods.changed(f, body))))


def _no_else(f: Frame, s: ast.For | ast.While) -> None:
    if s.orelse:
        f.refuse(
            "syntax", "kernels have no `else` after a loop", s, help="set a flag before `break`, and test it"
        )


# ------------------------------------------------------------------ counted loops


def counted(f: Frame, s: ast.For) -> None:
    """``for … in range(…)``, an `ndrange`, or a field: a nest of `For`s.

    Over a field without axes there is one trip, and its index is a vector of no entries.
    """
    _no_else(f, s)
    value = f.place(s.iter)
    as_it_is = f.plain and isinstance(value, Opaque) and not is_layout_node(value.value)
    grid = None if as_it_is else loop_ranges.of_value(f, value)
    if grid is None and f.plain:
        written_out(f, s, items(f, value, s.iter), isinstance(value, tuple | list | Mat | Opaque))
        return
    if grid is None:
        _refuse_iterable(f, value, s.iter)
    labels = _labels(f, s.target, grid, s)
    config, f.config = f.config, None
    outermost = f.c.nest is None
    if outermost:
        f.c.nests += 1
        f.c.nest = Nest(f.c.nests)
    go = _new_go(f)
    f.loops.append(go)
    try:
        first = _Nest(f, s, grid, labels, go, outermost).axis(0)
    finally:
        f.loops.pop()
        if outermost:
            f.c.nest, f.c.watches.at = None, ()
    f.scope.values.pop(go, None)
    if config is not None and first is not None:
        f.c.loops[first] = config


def _refuse_iterable(f: Frame, value: Value, node: ast.expr) -> NoReturn:
    if isinstance(value, list | tuple | Opaque | Mat):
        help = "write `for … in ds.static(…)`: the loop is then unrolled"
        f.refuse("static", f"a loop cannot iterate over {describe(value)}", node, help=help)
    f.refuse(
        "type",
        f"a loop cannot iterate over {describe(value)}",
        node,
        help="use `range`, `ndrange` or a field",
    )


def _labels(f: Frame, target: ast.expr, grid: Grid, s: ast.For) -> list[str]:
    """A name for the index of each axis."""
    several = isinstance(target, ast.Tuple | ast.List)
    names = target.elts if several else [target]
    if not all(isinstance(n, ast.Name) for n in names):
        f.refuse("syntax", "a loop's target is a name, or several names", target)
    for n in names:
        assert isinstance(n, ast.Name)
        if n.id in f.scope.values and n.id != "_":
            message = f"`{n.id}` is a local already and cannot be the index of a loop"
            f.refuse("unknown-name", message, n, help="give the index a name of its own")
    ids = [n.id for n in names if isinstance(n, ast.Name)]
    axes = len(grid.axes)
    if several and (len(ids) != axes or grid.grouped):
        what = "an index vector" if grid.grouped else "1 index" if axes == 1 else f"{axes} indices"
        f.refuse("index", f"this loop has {what}, not {len(ids)} of them", target)
    if several or not axes or (axes == 1 and not grid.grouped):
        return ids
    return [f"{ids[0]}_{i}" for i in range(axes)]


class _Nest:
    """One ``for`` statement: its axes become directly nested `For`s."""

    def __init__(self, f: Frame, s: ast.For, grid: Grid, labels: list[str], go: str, outermost: bool) -> None:
        self.f, self.s, self.grid, self.labels, self.go = f, s, grid, labels, go
        self.axes = grid.axes or (Range(0, 1),)
        self.outermost = outermost
        self.changed = _changed(f, s.body)
        self.indices: list[Var] = []
        self.strides: dict[int, loop_ranges.Strides] = {}  # by axis

    def axis(self, depth: int) -> Var | None:
        """The `For` of one axis; its index."""
        f, r, label = self.f, self.axes[depth], self.labels[depth]
        e = f.emit
        if not isinstance(r.step, int):
            self.strides[depth] = strides = loop_ranges.strides(e, r)
            r, label = Range(0, strides.count), f"{label}_trip"
        t = _index_type(f, r)
        start, stop, step = e.atom(r.start, t), e.atom(r.stop, t), _step(f, r, t, self.s.iter)
        at = e.builder.fresh(label, t)
        _note_range(f, at, r)
        nest = f.c.nest
        if self.outermost and nest is not None:
            f.c.nest = Nest(nest.ordinal, (*nest.axes, (at, start, stop, step)))
        self.indices = [*self.indices[:depth], at]
        draws = index(0) if self.outermost else None
        c = carrying.body(f, self.changed, self.go, draws, lambda: self._inside(depth))
        f.c.nest = nest
        results = carrying.results(f, c)
        e.builder.add(
            For(
                at, start, stop, step, c.block(), tuple(c.vars), tuple(c.init), results, c.goes_on,
                origin=e.builder.origin,
            )
        )  # fmt: skip
        carrying.after(f, c)
        return at

    def _inside(self, depth: int) -> None:
        if depth + 1 < len(self.axes):
            self.axis(depth + 1)
            return
        f = self.f
        needed = frozenset(f.scope.visible())
        self._bind()
        f.run(self.s.body, needed)

    def _bind(self) -> None:
        f, target = self.f, self.s.target
        values = [self._value(depth) for depth in range(len(self.indices))]
        if isinstance(target, ast.Tuple | ast.List):
            for n, at in zip(target.elts, values, strict=True):
                bind_target(f, n, at)
        else:
            indices = tuple(values[: len(self.grid.axes)])
            one = len(indices) == 1 and not self.grid.grouped
            bind_target(f, target, indices[0] if one else Mat((len(indices),), indices))
        if self.outermost:
            self._show(values[: len(self.grid.axes)])

    def _show(self, indices: Sequence[Atom]) -> None:
        """Emits probes of the indices, which select the iteration for all others."""
        f = self.f
        f.c.watches.at = tuple(indices)
        if f.shows is not None:
            for axis, (name, at) in enumerate(zip(self.labels, indices, strict=False)):
                f.shows.index(name, at, axis, f.span(self.s.target))

    def _value(self, depth: int) -> Atom:
        """The value of an axis's index in the body."""
        at, strides = self.indices[depth], self.strides.get(depth)
        return at if strides is None else strides.at(self.f.emit, at, self.labels[depth])


def _index_type(f: Frame, r: Range) -> ScalarType:
    return loop_ranges.index_type(f.emit, (r.start, r.stop))


def _step(f: Frame, r: Range, t: ScalarType, node: ast.expr) -> int:
    """The step; one that always leaves the index type is clamped to the least such step."""
    most = (1 << t.bits) - 1
    return max(-most, min(known(f, r.step, node), most))


def _note_range(f: Frame, at: Var, r: Range) -> None:
    """Stores the range of an index, when its bounds are known."""
    if isinstance(r.start, int) and isinstance(r.stop, int) and isinstance(r.step, int):
        values = range(r.start, r.stop, r.step)
        if values:
            f.c.ranges[at] = (min(values[0], values[-1]), max(values[0], values[-1]))


def fill(f: Frame, field: FieldValue | StructFieldValue, value: Value) -> None:
    """``x.fill(value)``: a loop over all elements of the field, or of each member."""
    if isinstance(field, StructFieldValue):
        for key in field.keys:
            fill(f, member_field(f, field, key, f.text.node), value)
        return
    _fill(f, field, value, ())


def _fill(f: Frame, field: FieldValue, value: Value, at: tuple[Var, ...]) -> None:
    axes = field.field.shape
    if len(at) == len(axes):
        store(f, f.c.memories.element(field, at), value)
        return
    builder = f.emit.builder
    i = builder.fresh("ijkl"[len(at) : len(at) + 1] or "i", f.emit.settings.default_ip)
    with builder.block() as statements:
        _fill(f, field, value, (*at, i))
    stop = const(axes[len(at)], i.type)
    builder.add(For(i, const(0, i.type), stop, 1, Block(tuple(statements)), origin=builder.origin))


# ------------------------------------------------------------------ while


def conditional(f: Frame, s: ast.While) -> None:
    """``while condition``: body and condition both read the carried values."""
    _no_else(f, s)
    if any(isinstance(n, ast.NamedExpr) for n in ast.walk(s.test)):
        s = _endless(s)
    outermost = f.c.nest is None
    drawn = f.scope.values[DRAWS]
    if outermost:
        f.c.nests += 1
        f.c.nest = Nest(f.c.nests)
        f.scope.values[DRAWS] = index(0)
    go = _new_go(f)
    f.loops.append(go)
    try:
        needed = frozenset(f.scope.visible())
        c = carrying.body(f, _changed(f, s.body), go, None, lambda: f.run(s.body, needed))
        test = _test(f, s, c)
    finally:
        f.loops.pop()
        f.c.nest = None if outermost else f.c.nest
    results = carrying.results(f, c)
    e = f.emit
    e.builder.add(While(test, c.block(), tuple(c.vars), tuple(c.init), results, e.builder.origin))
    carrying.after(f, c)
    f.scope.values.pop(go, None)
    if outermost:
        f.scope.values[DRAWS] = drawn
    if isinstance(s.test, ast.Constant) and s.test.value and not breaks(s.body):
        f.scope.values.update({RETURNED: TRUE, LIVE: FALSE, **dict.fromkeys(f.loops, FALSE)})


def _endless(s: ast.While) -> ast.While:
    """``while (a := b): …`` as ``while True: if not (a := b): break; …``, whose body assigns the name."""
    leaves = ast.copy_location(ast.If(ast.UnaryOp(ast.Not(), s.test), [ast.Break()], []), s.test)
    made = ast.While(ast.copy_location(ast.Constant(True), s.test), [leaves, *s.body], [])
    for node in (leaves.test, *leaves.body):
        ast.copy_location(node, s.test)
    return ast.copy_location(made, s)


def _test(f: Frame, s: ast.While, c: carrying.Carry) -> Block:
    """The block that evaluates the loop's condition."""
    e = f.emit
    before, f.scope.values = f.scope.values, dict(c.start)
    with e.builder.block() as statements, f.at(s.test):
        go = TRUE if c.goes_on is None else c.goes_on
        before_test = dict(f.scope.values)
        truth = choose(f, go, lambda: logic.truth(f, s.test), lambda: False, "t")
        _refuse_changes(f, s, before_test)
        if truth in (True, TRUE) and c.goes_on is None:
            f.refuse("syntax", "this loop never ends", s.test, help="leave it with `break` or `return`")
        if not same(f.scope.values[DRAWS], c.start[DRAWS]):
            f.refuse(
                "syntax",
                "the condition of a loop cannot draw random numbers",
                s.test,
                help="draw in the body",
            )
        yielded = e.atom(truth)
    f.scope.values = before
    return Block(tuple(statements), (yielded,))


def _refuse_changes(f: Frame, s: ast.While, before: dict[str, Value]) -> None:
    """Refuses conditions that change locals."""
    for name in f.scope.visible():
        if name in before and not same(f.scope.values[name], before[name]):
            f.refuse(
                "syntax",
                f"the condition of a loop cannot change `{name}`",
                s.test,
                help="change it in the body, and leave by `break`",
            )


# ------------------------------------------------------------------ unrolled


def written_out(f: Frame, s: ast.For, items: Sequence[Value], of_sequence: bool) -> None:
    """``for … in static(…)``: the body once for each item, of a sequence of the program's or of a range."""
    _no_else(f, s)
    copies(f, len(items), s.iter)
    go = _new_go(f)
    f.loops.append(go)
    f.scope.values[go] = TRUE
    try:
        for item in items:
            if f.scope.values[go] == FALSE or too_long(f):
                break
            _once(f, s, item, f.scope.values[go], of_sequence)
    finally:
        f.loops.pop()
    f.scope.values.pop(go, None)
    carrying.alive(f)


def _once(f: Frame, s: ast.For, item: Value, goes_on: Atom, of_sequence: bool) -> None:
    def run() -> None:
        outer = dict(f.scope.values)
        shadowed = assigned([ast.Assign([s.target], ast.Constant(0))])
        bind_target(f, s.target, item)
        f.scope.items.update(shadowed if of_sequence else ())
        f.run(s.body, frozenset(f.scope.visible()))
        f.scope.items.difference_update(shadowed)
        f.scope.close(outer, "is assigned inside a loop only and is not defined here")
        for name in shadowed:
            if name in outer:
                f.scope.values[name] = outer[name]

    f.scope.values[LIVE] = TRUE
    if goes_on == TRUE:
        run()
    else:
        fork(f, goes_on, lambda: carrying.revived(f, run), lambda: None, frozenset(f.scope.visible()))
    f.scope.values[LIVE] = TRUE
