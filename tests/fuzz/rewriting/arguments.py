"""Rewrites a program so that its fields are arrays, passed to kernels as arguments.

Floats are ndarrays; integers are NumPy arrays, unless a func names one. Each comes under two names, and the
kernel's text uses the one and the other in turn: one memory all the same. What funcs name stays as it is, so
a kernel may meet an ndarray by itself, too.
"""

from __future__ import annotations

import itertools
import re
from dataclasses import replace
from typing import Self

import numpy as np

from tests.fuzz.drawing.program import (
    Action,
    BlockSpec,
    FieldSpec,
    KernelSpec,
    Launch,
    Program,
    mentioned,
)

_OTHER = "_too"


class ArraySpec(FieldSpec):
    """A field as an ndarray."""

    def text(self, name: str = "") -> str:
        """Its declaration."""
        return super().text(name).replace("field(", "ndarray(")


class NumbersSpec(FieldSpec):
    """A field of integers as a NumPy array."""

    def text(self, name: str = "") -> str:
        """Its declaration."""
        return f"{name or self.name} = __import__({__name__!r}, fromlist=['*']).Numbers({self.shape})"


class Numbers(np.ndarray):
    """A NumPy array that Python handles as a field."""

    def __new__(cls, shape: tuple[int, ...]) -> Self:
        """Zeros."""
        return np.zeros(shape, np.int32).view(cls)

    def to_numpy(self) -> np.ndarray:
        """A plain copy."""
        return np.array(self)

    def from_numpy(self, values: np.ndarray) -> None:
        """Takes numbers over."""
        self[...] = values

    copy_from = from_numpy


class Name(str):
    """An argument that is a name."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def with_arguments(program: Program) -> Program:
    """`program`, with arrays as arguments."""
    names = tuple(f.name for f in program.fields)
    taken = {k.name: tuple(sorted(mentioned(names, k.text()))) for k in program.kernels}

    def launched(action: Action) -> Action:
        if not isinstance(action, Launch):
            return action
        return Launch(action.kernel, (*action.args, *(Name(n) for n in taken[action.kernel] for _ in "12")))

    in_funcs = mentioned(names, "\n".join(program.funcs))
    plain = not any(f.integers and f.name in in_funcs for f in program.fields)
    return replace(
        program,
        fields=tuple((NumbersSpec if f.integers and plain else ArraySpec)(**vars(f)) for f in program.fields),
        kernels=tuple(_taking(k, taken[k.name]) for k in program.kernels),
        actions=tuple(map(launched, program.actions)),
    )


def _taking(kernel: KernelSpec, names: tuple[str, ...]) -> KernelSpec:
    count = itertools.count()

    def in_turn(found: re.Match[str]) -> str:
        return found[0] + _OTHER if found[0] in names and next(count) % 2 else found[0]

    def line(text: str) -> str:
        return re.sub(r"[A-Za-z_]\w*", in_turn, text)

    def block(b: BlockSpec) -> BlockSpec:
        head = b.head and replace(b.head, text=line(b.head.text))
        return BlockSpec(tuple(map(line, b.lines)), head)

    arrays = [(name + end, "ti.types.ndarray()") for name in names for end in ("", _OTHER)]
    return replace(kernel, params=(*kernel.params, *arrays), blocks=tuple(map(block, kernel.blocks)))
