"""Hulls of affine indices: the smallest intervals, and boxes of intervals, as forms of selected symbols."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping, Sequence

from dsim.analysis.affine import ZERO, Affine, constant
from dsim.analysis.effects import Access, Effects
from dsim.analysis.symbols import INFINITY, Symbol

Interval = tuple[Affine, Affine]  # from, and to (exclusive)
Box = tuple[Interval, ...]


class Hulls:
    """Bounds on the forms of one kernel, as forms of the symbols named in `free`."""

    def __init__(self, facts: Effects, free: Container[str]) -> None:
        self.symbols = facts.integers.symbols
        self.free = free

    def end(self, form: Affine, side: int) -> Affine | None:
        """The greatest value of `form` (`side` 1) or the least (-1); None if unknown."""
        inner = [self.symbols[v.name] for v, _ in form.terms if v.name not in self.free]
        if not inner:
            return form
        s = max(inner, key=lambda found: found.order)
        k = form.coefficient(s.var)
        rest = form.without(s.var)
        for bound in _bounds(s, k * side > 0):
            whole = self.end(rest + bound * k, side)
            if whole is not None:
                return whole
        return None

    def interval(self, form: Affine, length: int) -> Interval:
        """The interval of `form` on an axis of this length; the whole axis if unknown."""
        first, last = self.end(form, -1), self.end(form, 1)
        return (ZERO if first is None else first), (constant(length) if last is None else last + 1)

    def box(self, access: Access) -> Box:
        """The box of elements that `access` may touch; its memory has a known shape."""
        lengths = access.memory.shape
        return tuple(self.interval(f, n) for f, n in zip(access.index, lengths, strict=True) if n is not None)


def _bounds(s: Symbol, upper: bool) -> Iterable[Affine]:
    form, number = (s.upper, s.high) if upper else (s.lower, s.low)
    if form is not None:
        yield form
    if abs(number) != INFINITY:
        yield constant(int(number))


def python(form: Affine, places: Mapping[str, int], args: Sequence[str] | None = None) -> str:
    """`form` as a Python expression over the tuple ``p``, or over the variables `args`.

    `places` has each symbol's position there.
    """
    names = [(f"p[{places[v.name]}]" if args is None else args[places[v.name]], k) for v, k in form.terms]
    parts = [name if k == 1 else f"{k} * {name}" for name, k in names]
    if form.constant or not parts:
        parts.append(str(form.constant))
    return " + ".join(parts).replace("+ -", "- ")


def compiled(source: str, name: str) -> Callable[..., object]:
    """The function `name` defined by `source`, Python text that this package generated."""
    scope: dict[str, Callable[..., object]] = {}
    exec(source, {"__builtins__": {}}, scope)
    return scope[name]
