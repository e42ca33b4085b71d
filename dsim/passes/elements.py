"""Elements of memories as passes distinguish them: by an index with a variable plus a number per axis."""

from __future__ import annotations

from dsim.ir.nodes import Atom, Memory
from dsim.passes.algebraic_simplification import Definitions, split

Place = tuple[tuple[str, int], ...]  # per axis the variable's name ("" for none) and the number added


def place(index: tuple[Atom, ...], made: Definitions) -> Place:
    """The element at `index`; equal places are one element, as long as the variables keep their values."""
    parts = (split(a, made) for a in index)
    return tuple(("" if base is None else base.name, offset) for base, offset in parts)


def anywhere(memory: Memory) -> Place:
    """An unknown element of `memory`."""
    return (("?", 0),) * len(memory.shape)


def apart(p: Place, q: Place) -> bool:
    """Whether two places of one memory certainly do not alias."""
    return any(a[0] == b[0] and a[1] != b[1] for a, b in zip(p, q, strict=True))
