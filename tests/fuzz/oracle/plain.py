"""The oracle: executes a program as plain serial Python.

`run` gives names like `ti.field` and `ti.sin` a meaning of their own, over the numbers of `numbers.py`, and
lets Python execute the program's text. Nothing of dsim takes part. What Python does not do as the language
does it is rewritten first: literals get a type, an assignment copies a vector, `x[i] += v` and
`ti.atomic_max(x[i], v)` are one step.
"""

from __future__ import annotations

import ast
import itertools
import math
from collections.abc import Callable, Mapping, MutableMapping
from dataclasses import dataclass
from types import MappingProxyType, SimpleNamespace
from typing import Any, TypeGuard

import numpy as np

from tests.fuzz.oracle import numbers
from tests.fuzz.oracle.arrays import Numbers
from tests.fuzz.oracle.funcs import Func, copied
from tests.fuzz.oracle.numbers import Dual, Int, cast, dual
from tests.fuzz.oracle.structs import Element, Kind, Struct, StructField, StructKind, VectorKind, struct_of
from tests.fuzz.oracle.vectors import Array, inside, matrix, vector


class Field:
    """A field: its elements, and which of them were read."""

    def __init__(self, shape, entry: tuple[int, ...], kind: Kind) -> None:
        self.shape = (shape,) if isinstance(shape, int) else tuple(shape)
        self.integers, self.entry, self.kind = kind.integers, entry, kind
        self.elements: MutableMapping[tuple[int, ...], Any] = {}
        self.read: set[tuple[int, ...]] = set()
        self.fill(0.0)

    def _place(self, at) -> tuple[int, ...]:
        place = () if at is None else at if isinstance(at, tuple) else (at,)
        return tuple(inside(a, size) for a, size in zip(place, self.shape, strict=True))

    def _places(self):
        return itertools.product(*map(range, self.shape))

    def kept(self, value):
        """`value` as the field holds it."""
        if self.entry:
            size = math.prod(self.entry)
            entries = value.entries if isinstance(value, Array) else _flat(value) or [value] * size
            made = Array([cast(dual(e), self.kind.bits) for e in entries], self.entry)
            for e in made.entries:
                numbers.WATCH.written(e)
            return made
        if self.integers:
            return self.kind(value if isinstance(value, Dual) else int(value))
        number = cast(dual(value), self.kind.bits)
        numbers.WATCH.written(number)
        return number

    def __getitem__(self, at):
        place = self._place(at)
        self.read.add(place)
        return self.elements[place]

    def __setitem__(self, at, value) -> None:
        place = self._place(at)
        if place in self.read:
            numbers.WATCH.overwritten += 1
            numbers.WATCH.events.add("overwritten integer" if self.integers else "overwritten float")
            self.read.discard(place)
        self.elements[place] = self.kept(value)

    def __iter__(self):
        for place in self._places():
            at = tuple(map(Int, place))
            yield at[0] if len(at) == 1 else at

    def update(self, at, operation, value):
        """Replaces an element by what `operation` makes of it and `value`; gives the element before."""
        old = self.elements[self._place(at)]
        self[at] = operation(old, value)
        return old

    def fill(self, value) -> None:
        """Sets all elements."""
        for place in self._places():
            self[place] = value

    def copy_from(self, other: Field) -> None:
        """Sets all elements to another field's."""
        for place in self._places():
            self[place] = other[place]

    def from_numpy(self, array) -> None:
        """Sets all elements to an array's."""
        for place in self._places():
            self[place] = Array(np.ravel(array[place]), self.entry) if self.entry else array[place]

    def get_scalar_field(self, *at) -> Field:
        """One number of all elements, over the same memory."""
        return Component(self, at)

    def parts(self) -> list:
        """All its numbers in order."""
        elements = [self.elements[place] for place in self._places()]
        if not self.entry:
            return elements
        return [e for element in elements for e in element.entries]  # type: ignore[attr-defined]


class Component(Field):
    """One number of each element of a field of vectors or matrices."""

    def __init__(self, whole: Field, at: tuple[int, ...]) -> None:
        self.shape, self.entry, self.kind, self.integers = whole.shape, (), whole.kind, False
        self.read = set()
        self.elements = _OneOfEach(whole, at)


class _OneOfEach(MutableMapping):
    """The numbers at `at` of all elements of a field."""

    def __init__(self, whole: Field, at: tuple[int, ...]) -> None:
        self.whole, self.at = whole, at

    def __getitem__(self, place):
        return self.whole.elements[place][self.at]

    def __setitem__(self, place, number) -> None:
        self.whole.elements[place][self.at] = number

    def __delitem__(self, place) -> None:
        raise TypeError("a field keeps its elements")

    def __iter__(self):
        return iter(self.whole.elements)

    def __len__(self) -> int:
        return len(self.whole.elements)


_UPDATES = {
    "Add": lambda a, b: a + b,
    "Sub": lambda a, b: a - b,
    "Mult": lambda a, b: a * b,
    "Div": lambda a, b: a / b,
    "atomic_add": lambda a, b: a + b,
    "atomic_sub": lambda a, b: a - b,
    "atomic_max": lambda a, b: numbers.larger(a, numbers.nearest(b, a)),
    "atomic_min": lambda a, b: numbers.smaller(a, numbers.nearest(b, a)),
}


class Rewriting(ast.NodeTransformer):
    """Makes Python do what the language does.

    Attributes
    ----------
    names : mapping
        What the rewritten text uses beside the interpreter's own functions.
    directions : int
        How many derivatives there are beside those by the inputs.
    """

    names: Mapping[str, object] = MappingProxyType({})
    directions: int = 0
    typed: frozenset[str] = frozenset()  # locals of the function that have a type by now

    def visit_Constant(self, node: ast.Constant):
        return call("_literal", node) if type(node.value) in (int, float) else node

    def visit_FunctionDef(self, node: ast.FunctionDef):
        outside, self.typed = self.typed, frozenset(a.arg for a in node.args.args)
        self.generic_visit(node)
        self.typed = outside
        return node

    def visit_Assign(self, node: ast.Assign):
        self.generic_visit(node)
        target = node.targets[0]
        before = [ast.Name(target.id, ast.Load())] if self._keeps_type(target) else []
        node.value = call("_value", node.value, *before)
        return node

    def _keeps_type(self, target: ast.expr) -> TypeGuard[ast.Name]:
        """Whether this is a local that has a type from its first assignment; it has one from now on."""
        if not isinstance(target, ast.Name):
            return False
        known = target.id in self.typed
        self.typed |= {target.id}
        return known

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.stmt:
        self.generic_visit(node)
        if isinstance(node.target, ast.Name):
            before = ast.Name(node.target.id, ast.Load())
            value = call("_value", ast.BinOp(before, node.op, node.value), before)
            return ast.Assign([node.target], value)
        return ast.Expr(self.update(node.target, type(node.op).__name__, node.value))

    def visit_Call(self, node: ast.Call):
        self.generic_visit(node)
        if isinstance(node.func, ast.Attribute) and node.func.attr.startswith("atomic_"):
            target = node.args[0]
            assert isinstance(target, ast.Subscript | ast.Attribute)
            return self.update(target, node.func.attr, node.args[1])
        return node

    def update(self, target: ast.Subscript | ast.Attribute, operation: str, value: ast.expr) -> ast.Call:
        """A call that changes `target` in one step, and gives what it was."""
        at = target.slice if isinstance(target, ast.Subscript) else ast.Constant(target.attr)
        return call("_update", target.value, at, ast.Constant(operation), value)


def call(name: str, *args: ast.expr) -> ast.Call:
    """A call of something that the interpreter defines."""
    return ast.Call(ast.Name(name, ast.Load()), list(args), [])


def _value(value, before=None):
    """What is assigned; where `before` was there before, its type is kept."""
    if isinstance(before, Dual):
        return cast(value, before.bits)
    if isinstance(before, Int):
        return numbers.truncated(value, before.bits)
    return copied(value)


def _flat(value) -> list:
    """The numbers in nested lists."""
    return [n for row in value for n in (_flat(row) or [row])] if isinstance(value, list) else []


def _update(target, at, operation: str, value):
    if isinstance(target, Field | Struct | Element):
        return target.update(at, _UPDATES[operation], value)
    old = target[at]
    target[at] = _UPDATES[operation](old, value)
    return old


def _range(*bounds):
    bits = max(getattr(b, "bits", 32) for b in bounds)
    return (numbers.wrapped(i, bits) for i in range(*map(int, bounds)))


def _ndrange(*sides):
    pairs = [side if isinstance(side, tuple) else (0, side) for side in sides]
    return itertools.product(*(_range(*pair) for pair in pairs))


@dataclass(frozen=True)
class _Entries:
    """``ti.Vector`` and ``ti.Matrix``: they make values, and fields of those."""

    made: Callable[..., Array]
    axes: int

    def __call__(self, entries) -> Array:
        return self.made(entries)

    def field(self, *args, shape, needs_grad: bool = False) -> Field:
        """A field; `args` are the sizes of its entries, and their type."""
        return Field(shape, tuple(map(int, args[: self.axes])), args[self.axes])

    ndarray = field


def _struct_field(kind: StructKind, shape, needs_grad: bool = False) -> StructField:
    def made(member: Kind | VectorKind) -> Field:
        if isinstance(member, VectorKind):
            return Field(shape, (member.size,), member.kind)
        return Field(shape, (), member)

    return StructField(kind, made)


StructKind.field = _struct_field  # type: ignore[attr-defined]

TI = SimpleNamespace(
    **numbers.FUNCTIONS,
    **dict.fromkeys(("kernel", "static", "grouped"), lambda f: f),
    func=Func,
    dataclass=struct_of,
    f32=Kind(False, 32),
    f64=Kind(False, 64),
    i32=Kind(True, 32),
    i64=Kind(True, 64),
    types=SimpleNamespace(vector=lambda n, kind: VectorKind(int(n), kind), ndarray=lambda: None),
    field=lambda dtype, shape, needs_grad=False: Field(shape, (), dtype),
    ndarray=lambda dtype, shape, needs_grad=False: Field(shape, (), dtype),
    Vector=_Entries(vector, 1),
    Matrix=_Entries(matrix, 2),
    ndrange=_ndrange,
    atan2=numbers.angle,
    floor=numbers.floored,
    pow=lambda a, b: a**b,
    math=SimpleNamespace(
        clamp=lambda v, low, high: numbers.smaller(numbers.larger(v, low), high),
        mix=lambda a, b, t: a * (1.0 - t) + b * t,
    ),
    stop_grad=lambda v: Dual(v.v, 0.0, v.bits),
    cast=lambda v, dtype: dtype(v),
    select=lambda condition, a, b: a if condition else b,
    max=numbers.larger,
    min=numbers.smaller,
)


_NP = SimpleNamespace(
    array=lambda rows, dtype=None: np.array(rows, object), zeros=Numbers, int32=int, int64=int, float32=float
)


@dataclass
class Result:
    """What a program gives.

    Attributes
    ----------
    values, tangents : dict
        Of each field its numbers, and of each float field their derivatives by all inputs (the last axis).
    watch : Watch
        What the run met.
    """

    values: dict[str, np.ndarray]
    tangents: dict[str, np.ndarray]
    watch: numbers.Watch


def run(
    text: str,
    start: dict[str, np.ndarray],
    inputs: tuple[str, ...],
    rewriting: Rewriting | None = None,
    rounding: numbers.Rounding | None = None,
) -> Result:
    """Runs the program `text` from the values `start`, with derivatives by all numbers of `inputs`."""
    rewriting = rewriting or Rewriting()
    numbers.rounding(rounding or numbers.Rounding())
    tree = ast.fix_missing_locations(rewriting.visit(ast.parse(text)))
    space = {
        "ti": TI, "np": _NP, "range": _range, "max": numbers.larger, "min": numbers.smaller,
        "int": numbers.truncated, "float": numbers.default_float, "_literal": numbers.literal,
        "_value": _value, "_update": _update, **rewriting.names,
    }  # fmt: skip
    exec(compile(tree, "<plain>", "exec", dont_inherit=True), space)
    fields = {name: f for name, f in space.items() if isinstance(f, Field | Numbers)}
    _begin(fields, start, inputs)
    watch = numbers.watched()
    with np.errstate(all="ignore"):  # values that are too large are not compared
        space["run"]()
    return _result(fields, start, sum(start[name].size for name in inputs) + rewriting.directions, watch)


def _begin(
    fields: Mapping[str, Field | Numbers], start: dict[str, np.ndarray], inputs: tuple[str, ...]
) -> None:
    basis = iter(np.eye(sum(start[name].size for name in inputs)))
    for name, values in start.items():
        fields[name].from_numpy(values)
        fields[name].read.clear()
    for name in inputs:
        for number in fields[name].parts():
            number.d = next(basis)


def _result(fields, start, directions: int, watch) -> Result:
    values, tangents = {}, {}
    for name, begun in start.items():
        parts = fields[name].parts()
        if fields[name].integers:
            values[name] = np.array(list(map(int, parts)), begun.dtype).reshape(begun.shape)
            continue
        values[name] = np.array([p.v for p in parts]).reshape(begun.shape)
        rows = [np.broadcast_to(p.d, directions) for p in parts]
        tangents[name] = np.array(rows).reshape(*begun.shape, directions)
    return Result(values, tangents, watch)
