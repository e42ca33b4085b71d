"""The data of a random program: fields, funcs, kernels of several blocks, and actions of Python.

Blocks are text in the language; the rest is data, so that a program can be written another way (`fresh.py`).
Nothing here knows how programs are drawn or checked.
"""

from __future__ import annotations

import ast
import functools
import re
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True, eq=False)
class FieldSpec:
    """A field and what it holds before each run.

    `entry` is the shape of its vectors or matrices, `bits` the size of its numbers where it is not 64 for
    floats and 32 for integers.
    """

    name: str
    shape: tuple[int, ...]
    start: np.ndarray
    integers: bool = False
    entry: tuple[int, ...] = ()
    needs_grad: bool = True
    bits: int = 0

    @property
    def dtype(self) -> str:
        """The type of its numbers."""
        return f"i{self.bits or 32}" if self.integers else f"f{self.bits or 64}"

    @property
    def is_array(self) -> bool:
        """Whether it is a NumPy array, which has no custom derivative."""
        return False

    @property
    def is_part(self) -> bool:
        """Whether it is a part of something that the program declares elsewhere."""
        return False

    def text(self, name: str = "") -> str:
        """Its declaration."""
        grad = ", needs_grad=True" if self.needs_grad and not self.integers else ""
        sizes = "".join(f"{n}, " for n in self.entry)
        made = f"{('', 'Vector.', 'Matrix.')[len(self.entry)]}field({sizes}ti.{self.dtype}"
        return f"{name or self.name} = ti.{made}, shape={self.shape}{grad})"

    def element(self, at: str, other: bool = False) -> str:
        """How a kernel names an element, or how it may name it, too."""
        return f"{self.name}[{at}]"


@dataclass(frozen=True)
class Head:
    """The head of a loop whose trips can be launched one by one: what it is over, and how that is written."""

    names: tuple[str, ...]
    ranges: tuple[tuple[int, int], ...]
    text: str

    def trips(self) -> list[tuple[int, ...]]:
        """The indices, trip by trip."""
        lows = [low for low, _ in self.ranges]
        counts = [max(0, high - low) for low, high in self.ranges]
        return [tuple(a + b for a, b in zip(lows, at, strict=True)) for at in np.ndindex(*counts)]


@dataclass(frozen=True)
class BlockSpec:
    """One top-level statement, or a few that belong together; with a `head` only the body of that loop."""

    lines: tuple[str, ...]
    head: Head | None = None

    def text(self) -> list[str]:
        """Its lines, as they stand in the kernel."""
        if self.head is None:
            return [f"    {line}" for line in self.lines]
        return [f"    {self.head.text}", *(f"        {line}" for line in self.lines)]


@dataclass(frozen=True)
class KernelSpec:
    """A kernel; `together` says that its blocks share locals."""

    name: str
    params: tuple[tuple[str, str], ...]
    blocks: tuple[BlockSpec, ...]
    together: bool = False

    def text(self) -> str:
        """Its definition."""
        params = ", ".join(f"{name}: {kind}" for name, kind in self.params)
        lines = [line for block in self.blocks for line in block.text()]
        return "\n".join(["@ti.kernel", f"def {self.name}({params}):", *lines])


@dataclass(frozen=True)
class Launch:
    """A launch of a kernel."""

    kernel: str
    args: tuple[Any, ...]

    def text(self) -> str:
        """How Python says it."""
        return f"{self.kernel}({', '.join(map(repr, self.args))})"


@dataclass(frozen=True)
class HostWrite:
    """Something that Python does to the field `target`; `form` has the names in braces."""

    target: str
    form: str
    others: tuple[str, ...] = ()

    def text(self) -> str:
        """How Python says it."""
        return self.form.format(self.target, *self.others)


Action = Launch | HostWrite


@dataclass(frozen=True)
class Program:
    """Fields, funcs (as text), kernels, and what is run. The 0-D field ``loss`` is what is differentiated.

    `head` is declared before the fields; `resets` are what `run` begins with. Floats without a type have
    `default_bits`.
    """

    fields: tuple[FieldSpec, ...]
    funcs: tuple[str, ...]
    kernels: tuple[KernelSpec, ...]
    actions: tuple[Action, ...]
    head: str = ""
    resets: tuple[str, ...] = ()
    default_bits: int = 64

    @property
    def inputs(self) -> tuple[str, ...]:
        """The fields that the loss is differentiated by."""
        wanted = (f for f in self.fields if f.needs_grad and not f.integers and not f.is_array)
        return tuple(f.name for f in wanted if f.name != "loss")

    @property
    def floats(self) -> tuple[str, ...]:
        """The fields of floats that may have derivatives."""
        return tuple(f.name for f in self.fields if not f.integers and not f.is_array)

    @property
    def mixed(self) -> bool:
        """Whether it has floats of 32 bits."""
        return self.default_bits == 32 or any(f.dtype == "f32" for f in self.fields)

    @property
    def start(self) -> dict[str, np.ndarray]:
        """What the fields hold before each run."""
        return {f.name: f.start for f in self.fields}

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """How Hypothesis shows it."""
        printer.text(f"\n{self.text}\n{self.start}\n")

    def kernel(self, name: str) -> KernelSpec:
        """The kernel of a name."""
        return next(k for k in self.kernels if k.name == name)

    @functools.cached_property
    def text(self) -> str:
        """The definitions, and a function `run`, as Python reads them; `ti` and `np` are imported before."""
        lines = [*self.resets, *(action.text() for action in self.actions)] or ["pass"]
        run = ["def run():", *(f"    {line}" for line in lines)]
        heads = [self.head] if self.head else []
        declared = "\n".join(f.text() for f in self.fields)
        parts = [*heads, declared, *self.funcs, *(k.text() for k in self.kernels)]
        return "\n\n\n".join([*parts, "\n".join(run)]) + "\n"


def mentioned(names: tuple[str, ...], text: str) -> set[str]:
    """Those of `names` that occur in `text`."""
    return set(re.findall(r"[A-Za-z_]\w*", text)) & set(names)


def renamed(text: str, names: dict[str, str]) -> str:
    """`text` with other names for some fields."""
    return re.sub(r"[A-Za-z_]\w*", lambda found: names.get(found[0], found[0]), text)


def written(names: tuple[str, ...], text: str) -> set[str]:
    """Those of the fields `names` that statements in a kernel write."""
    found = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
            found |= mentioned(names, ast.unparse(_base(node)))
        if isinstance(node, ast.Call) and ast.unparse(node.func).startswith("ti.atomic_"):
            found |= mentioned(names, ast.unparse(_base(node.args[0])))
    return found


def _base(node: ast.expr) -> ast.expr:
    while isinstance(node, ast.Subscript):
        node = node.value
    return node
