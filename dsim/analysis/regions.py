"""Access regions: boxes around the elements that a launch may touch, computed fast at every launch.

Conservative: guards are ignored, and an index that is data covers the whole axis.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any, Generic, TypeVar

from dsim.analysis.affine import Affine, constant
from dsim.analysis.effects import Access, Effects, effects, never_runs
from dsim.analysis.interval_hull import Box, Hulls, Interval, compiled, python
from dsim.ir.nodes import KernelIR, MemoryKey

Numbers = tuple[tuple[int, int], ...]  # per axis from and to (exclusive)


T = TypeVar("T")
Watch = list[int]  # 1, or 0 if it is empty; then per axis from and to (exclusive)


class _lazily(Generic[T]):  # noqa: N801 (a decorator, as `property` is)
    """Decorator: a property that is computed at the first access and cached in the object.

    `functools.cached_property` takes a lock in Python 3.11, which may stay locked for ever in a forked child.
    """

    def __init__(self, make: Callable[[Any], T]) -> None:
        self._make = make
        self.__doc__ = make.__doc__

    def __get__(self, owner: Any, kind: type) -> T:
        """The value; it is stored in the object, where later accesses find it."""
        made = owner.__dict__[self._make.__name__] = self._make(owner)
        return made


class Regions:
    """The access regions of some accesses of a kernel.

    Attributes
    ----------
    keys : tuple of MemoryKey
        The memory of each box; a memory may have several boxes.
    fixed : bool
        Whether the boxes are the same for all arguments; then any arguments may be given.
    """

    def __init__(self, keys: tuple[MemoryKey, ...], fixed: bool, code: _Code) -> None:
        self.keys = keys
        self.fixed = fixed
        self._code = code

    @_lazily
    def at(self) -> Callable[[tuple[object, ...]], tuple[Numbers, ...]]:
        """Returns the boxes, in the order of `keys`, of the launch with the given arguments.

        The arguments are those of all of the kernel's parameters, in order. A box has ``(from, to)`` per
        axis, `to` exclusive, within the memory's shape. It is empty if ``from >= to`` on some axis; the box
        of a 0-D memory is ``()`` and is not empty.
        """
        return self._code.boxes()  # type: ignore[return-value]

    @_lazily
    def meets(self) -> Callable[[tuple[Watch, ...], tuple[object, ...]], bool]:
        """Whether one of the boxes of a launch overlaps the watched box at its position."""
        return self._code.meets()  # type: ignore[return-value]

    @_lazily
    def widen(self) -> Callable[[tuple[Watch, ...], tuple[object, ...]], None]:
        """Widens each watched box to include the launch's box at its position."""
        return self._code.widen()  # type: ignore[return-value]


def regions(kernel: KernelIR, sites: Collection[int], facts: Effects | None = None) -> Regions:
    """The regions of the accesses of `kernel` at `sites`; private memories have none."""
    facts = facts if facts is not None else effects(kernel)
    return _regions(facts, [a for a in facts.accesses if a.site in sites])


def written(kernel: KernelIR, facts: Effects | None = None) -> Regions:
    """The regions that `kernel` stores and accumulates to."""
    facts = facts if facts is not None else effects(kernel)
    return _regions(facts, [a for a in facts.accesses if a.kind != "load"])


def _regions(facts: Effects, accesses: list[Access]) -> Regions:
    params = facts.kernel.params
    places = {p.name: n for n, p in enumerate(params) if p.type.is_integer}
    hulls = Hulls(facts, places)
    found: dict[MemoryKey, list[Box]] = {}
    for a in {(a.form, a.memory.key): a for a in accesses}.values():
        if not a.memory.private and not never_runs(a):
            _include(found.setdefault(a.memory.key, []), _clipped(hulls.box(a), a.memory.shape))
    keys = tuple(key for key, boxes in found.items() for _ in boxes)
    boxes = [box for found_boxes in found.values() for box in found_boxes]
    fixed = all(form.is_constant for box in boxes for interval in box for form in interval)
    shapes = {m.key: m.shape for m in facts.kernel.memories}
    return Regions(keys, fixed, _Code(boxes, [shapes[key] for key in keys], places))


def _clipped(box: Box, shape: tuple[int | None, ...]) -> Box:
    """`box` with its constant ends clipped to the memory's shape."""
    return tuple((_within(a, n or 0), _within(b, n or 0)) for (a, b), n in zip(box, shape, strict=True))


def _within(form: Affine, length: int) -> Affine:
    return constant(min(max(form.constant, 0), length)) if form.is_constant else form


def _include(boxes: list[Box], new: Box) -> None:
    """Adds `new` to `boxes`, merged with those that it overlaps or adjoins."""
    for n, old in enumerate(boxes):
        joined = _joined(old, new)
        if joined is not None:
            del boxes[n]
            _include(boxes, joined)
            return
    boxes.append(new)


def _joined(a: Box, b: Box) -> Box | None:
    """One box around both if they certainly overlap, or differ on one axis and adjoin there; else None."""
    differ = sum(x != y for x, y in zip(a, b, strict=True))
    slack = 0 if differ <= 1 else -1  # boxes that only adjoin are merged if their union is a box
    box: list[Interval] = []
    for x, y in zip(a, b, strict=True):
        joined = x if x == y else _interval_around(x, y, slack)
        if joined is None:
            return None
        box.append(joined)
    return tuple(box)


def _interval_around(a: Interval, b: Interval, slack: int) -> Interval | None:
    """One interval around both if they are at most `slack` apart for all arguments; else None."""
    (al, au), (bl, bu) = a, b
    if al.terms != bl.terms or au.terms != bu.terms:
        return None
    if al.terms == au.terms:
        apart = max(bl.constant - au.constant, al.constant - bu.constant) > slack
    else:
        apart = al.constant != bl.constant and au.constant != bu.constant
    if apart:
        return None
    return (al if al.constant <= bl.constant else bl), (au if au.constant >= bu.constant else bu)


class _Code:
    """Generates functions of a launch's arguments `p` and of watched boxes; each end is computed once."""

    def __init__(
        self, boxes: list[Box], shapes: list[tuple[int | None, ...]], places: dict[str, int]
    ) -> None:
        names: dict[tuple[Affine, int, bool], str] = {}

        def end(form: Affine, n: int, upper: bool) -> str:
            if form.is_constant:
                return str(form.constant)
            return names.setdefault((form, n if upper else 0, upper), f"e{len(names)}")

        self._boxes = [
            [(end(a, n or 0, False), end(b, n or 0, True)) for (a, b), n in zip(box, shape, strict=True)]
            for box, shape in zip(boxes, shapes, strict=True)
        ]
        self._ends: list[str] = []
        for (form, n, upper), name in names.items():
            limit = f"{name} if {name} < {n} else {n}" if upper else f"{name} if {name} > 0 else 0"
            self._ends += [f"    {name} = {python(form, places)}", f"    {name} = {limit}"]

    def boxes(self) -> Callable[..., object]:
        """The function that returns the boxes."""
        shown = ("(" + "".join(f"({a}, {b}), " for a, b in box) + ")" for box in self._boxes)
        return self._compiled("boxes(p)", [f"return ({''.join(f'{box}, ' for box in shown)})"])

    def meets(self) -> Callable[..., object]:
        """The function that says whether one of them overlaps its watched box."""
        lines: list[str] = []
        for number, box in enumerate(self._boxes):
            ends = [f"{a} < w[{2 * n + 2}] and {b} > w[{2 * n + 1}]" for n, (a, b) in enumerate(box)]
            lines += [f"w = watched[{number}]", f"if {' and '.join(('w[0]', *ends))}:", "    return True"]
        return self._compiled("meets(watched, p)", [*lines, "return False"])

    def widen(self) -> Callable[..., object]:
        """The function that widens the watched boxes to include them."""
        lines: list[str] = []
        for number, box in enumerate(self._boxes):
            lines += [f"w = watched[{number}]", f"if {' and '.join(f'{a} < {b}' for a, b in box) or 'True'}:"]
            lines += ["    w[0] = 1"]
            for n, (a, b) in enumerate(box):
                low, high = f"w[{2 * n + 1}]", f"w[{2 * n + 2}]"
                lines += [f"    if {a} < {low}:", f"        {low} = {a}"]
                lines += [f"    if {b} > {high}:", f"        {high} = {b}"]
        return self._compiled("widen(watched, p)", [*lines, "return None"])

    def _compiled(self, head: str, lines: list[str]) -> Callable[..., object]:
        text = "\n".join([f"def {head}:", *self._ends, *(f"    {line}" for line in lines)])
        return compiled(text, head[: head.index("(")])
