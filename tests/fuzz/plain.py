"""The oracle: a program of the language run as what it reads like, plain serial Python.

`run` gives names like `ti.field` and `ti.sin` a meaning of their own, over the numbers of `numbers.py`, and
lets Python execute the program's text. Nothing of dsim takes part. What Python does not do as the language
does it is rewritten first: literals get a type, an assignment copies a vector, `x[i] += v` and
`ti.atomic_max(x[i], v)` are one step.
"""

from __future__ import annotations

import ast
import itertools
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType, SimpleNamespace

import numpy as np

from tests.fuzz import numbers
from tests.fuzz.numbers import Dual, Int, dual, wrapped
from tests.fuzz.vectors import Array, inside, matrix, vector


class Field:
    """A field: its elements, and which of them were read."""

    def __init__(self, shape, entry: tuple[int, ...], integers: bool) -> None:
        self.shape = (shape,) if isinstance(shape, int) else tuple(shape)
        self.integers, self.entry = integers, entry
        self.elements: dict[tuple[int, ...], object] = {}
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
            made = Array(value.entries if isinstance(value, Array) else [value] * size, self.entry)
            for e in made.entries:
                numbers.WATCH.written(e)
            return made
        if self.integers:
            return numbers.truncated(value) if isinstance(value, Dual) else wrapped(int(value))
        numbers.WATCH.written(dual(value))
        return dual(value)

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

    def parts(self) -> list:
        """All its numbers in order."""
        elements = [self.elements[place] for place in self._places()]
        if not self.entry:
            return elements
        return [e for element in elements for e in element.entries]  # type: ignore[attr-defined]


_UPDATES = {
    "Add": lambda a, b: a + b,
    "Sub": lambda a, b: a - b,
    "Mult": lambda a, b: a * b,
    "Div": lambda a, b: a / b,
    "atomic_add": lambda a, b: a + b,
    "atomic_sub": lambda a, b: a - b,
    "atomic_max": numbers.larger,
    "atomic_min": numbers.smaller,
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

    def visit_Constant(self, node: ast.Constant):
        return call("_literal", node) if type(node.value) in (int, float) else node

    def visit_Assign(self, node: ast.Assign):
        self.generic_visit(node)
        node.value = call("_value", node.value)
        return node

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.stmt:
        self.generic_visit(node)
        if not isinstance(node.target, ast.Subscript):
            return node
        return ast.Expr(self.update(node.target, type(node.op).__name__, node.value))

    def visit_Call(self, node: ast.Call):
        self.generic_visit(node)
        if isinstance(node.func, ast.Attribute) and node.func.attr.startswith("atomic_"):
            assert isinstance(node.args[0], ast.Subscript)
            return self.update(node.args[0], node.func.attr, node.args[1])
        return node

    def update(self, target: ast.Subscript, operation: str, value: ast.expr) -> ast.Call:
        """A call that changes `target` in one step, and gives what it was."""
        return call("_update", target.value, target.slice, ast.Constant(operation), value)


def call(name: str, *args: ast.expr) -> ast.Call:
    """A call of something that the interpreter defines."""
    return ast.Call(ast.Name(name, ast.Load()), list(args), [])


def _value(value):
    return value.copy() if isinstance(value, Array) else value


def _update(target, at, operation: str, value):
    if isinstance(target, Field):
        return target.update(at, _UPDATES[operation], value)
    old = target[at]
    target[at] = _UPDATES[operation](old, value)
    return old


def _range(*bounds):
    return map(Int, range(*map(int, bounds)))


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
        return Field(shape, tuple(map(int, args[: self.axes])), False)


TI = SimpleNamespace(
    **numbers.FUNCTIONS,
    **dict.fromkeys(("kernel", "func", "static", "grouped"), lambda f: f),
    f64=float,
    i32=int,
    field=lambda dtype, shape, needs_grad=False: Field(shape, (), dtype is int),
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
    stop_grad=lambda v: Dual(v.v),
    cast=lambda v, dtype: numbers.truncated(v) if dtype is int else dual(v),
    select=lambda condition, a, b: a if condition else b,
    max=numbers.larger,
    min=numbers.smaller,
)


_NP = SimpleNamespace(array=lambda rows, dtype=None: np.array(rows, object), int32=int)


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
) -> Result:
    """Runs the program `text` from the values `start`, with derivatives by all numbers of `inputs`."""
    rewriting = rewriting or Rewriting()
    tree = ast.fix_missing_locations(rewriting.visit(ast.parse(text)))
    space = {
        "ti": TI, "np": _NP, "range": _range, "max": numbers.larger, "min": numbers.smaller,
        "int": numbers.truncated, "float": dual, "_literal": numbers.literal,
        "_value": _value, "_update": _update, **rewriting.names,
    }  # fmt: skip
    exec(compile(tree, "<plain>", "exec"), space)
    fields: dict[str, Field] = {name: f for name, f in space.items() if isinstance(f, Field)}
    _begin(fields, start, inputs)
    watch = numbers.watched()
    with np.errstate(all="ignore"):  # what is too large is not compared
        space["run"]()
    return _result(fields, start, sum(start[name].size for name in inputs) + rewriting.directions, watch)


def _begin(fields: dict[str, Field], start: dict[str, np.ndarray], inputs: tuple[str, ...]) -> None:
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
            values[name] = np.array(parts, np.int32).reshape(begun.shape)
            continue
        values[name] = np.array([p.v for p in parts]).reshape(begun.shape)
        rows = [np.broadcast_to(p.d, directions) for p in parts]
        tangents[name] = np.array(rows).reshape(*begun.shape, directions)
    return Result(values, tangents, watch)
