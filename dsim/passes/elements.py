"""Elements of memories as passes tell them apart: by index, each axis a variable plus a number."""

from __future__ import annotations

from dsim.ir.nodes import Atom, Memory
from dsim.passes.algebraic_simplification import Definitions, split

Place = tuple[tuple[str, int], ...]  # per axis the variable's name ("" for none) and what is added


def place(index: tuple[Atom, ...], made: Definitions) -> Place:
    """The element at `index`; equal places are the same element (while the variables are)."""
    parts = (split(a, made) for a in index)
    return tuple(("" if base is None else base.name, offset) for base, offset in parts)


def anywhere(memory: Memory) -> Place:
    """An element of `memory` that may be any."""
    return (("?", 0),) * len(memory.shape)


def apart(p: Place, q: Place) -> bool:
    """Whether two places of one memory are certainly different elements."""
    return any(a[0] == b[0] and a[1] != b[1] for a, b in zip(p, q, strict=True))
