"""Regions of fields as boxes: for each axis, a first index and an exclusive end.

The functions run at launches that save values: equal boxes, which are common, take the shortest way.
"""

from __future__ import annotations

from collections.abc import Iterable

Box = tuple[tuple[int, int], ...]


def meet(a: Box, b: Box) -> Box | None:
    """The box of what two boxes share, or None; one of the two, if they are equal, is not empty."""
    if a == b:
        return a
    shared: list[tuple[int, int]] = []
    for (p, q), (r, s) in zip(a, b, strict=True):  # faster than with `max` and `min`, at each launch
        low = max(r, p)
        high = min(s, q)
        if low >= high:
            return None
        shared.append((low, high))
    return tuple(shared)


def hull(a: Box, b: Box) -> Box:
    """The smallest box around two boxes."""
    return tuple([(min(r, p), max(s, q)) for (p, q), (r, s) in zip(a, b, strict=True)])


def joined(a: Box, b: Box) -> Box | None:
    """One box that is exactly the two together, or None."""
    if a == b:
        return a
    different = [axis for axis, (p, r) in enumerate(zip(a, b, strict=True)) if p != r]
    around = hull(a, b)
    if around in (a, b):
        return around
    if len(different) > 1:
        return None
    (low, high), (first, last) = a[different[0]], b[different[0]]
    return around if first <= high and low <= last else None


def include(boxes: list[Box], box: Box) -> None:
    """Adds a box to others, as one box with each of them that it makes one with."""
    for n, other in enumerate(boxes):
        both = joined(other, box)
        if both is not None:
            del boxes[n]
            include(boxes, both)
            return
    boxes.append(box)


def minus(a: Box, b: Box) -> list[Box]:
    """The difference of `a` and `b`, as disjoint boxes."""
    if a == b:
        return []
    shared = meet(a, b)
    if shared is None:
        return [a]
    left: list[Box] = []
    for axis, ((low, high), (first, last)) in enumerate(zip(a, shared, strict=True)):
        if low < first:
            left.append((*shared[:axis], (low, first), *a[axis + 1 :]))
        if last < high:
            left.append((*shared[:axis], (last, high), *a[axis + 1 :]))
    return left


def outside(boxes: Iterable[Box], taken: Iterable[Box]) -> list[Box]:
    """The part of `boxes` outside all of `taken`, as boxes that are disjoint if `boxes` are."""
    left = list(boxes)
    for t in taken:
        if not left:
            break
        left = [part for box in left for part in minus(box, t)]
    return left


def distinct(boxes: Iterable[Box]) -> list[Box]:
    """Disjoint boxes with the same union as `boxes`."""
    found: list[Box] = []
    for box in boxes:
        found += outside([box], found)
    return found


def element(name: str, box: Box, entry_axes: int) -> str:
    """The elements of `box` as a user writes them: ``x[3]``, ``x[0:4, 2]``, ``b[None]``."""
    axes = box[: len(box) - entry_axes] if entry_axes else box
    if not axes:
        return f"{name}[None]"
    return f"{name}[{', '.join(_range(a) for a in axes)}]"


def number(name: str, at: tuple[int, ...], entry_axes: int) -> str:
    """One number of a field's memory as a user writes it: ``x[3]``, of vectors ``v[3][0]``."""
    inner = at[len(at) - entry_axes :]
    part = f"[{', '.join(map(str, inner))}]" if inner else ""
    return element(name, tuple((i, i + 1) for i in at), entry_axes) + part


def _range(axis: tuple[int, int]) -> str:
    low, high = axis
    return str(low) if high == low + 1 else f"{low}:{high}"
