"""Python names for a kernel's variables and memories, and its constants and expressions as Python text."""

from __future__ import annotations

import builtins
import keyword
import math
import re

from dsim.ir import arithmetic
from dsim.ir.build import Names
from dsim.ir.nodes import Atom, Const, Memory, MemoryKey
from dsim.ir.show import digits
from dsim.ir.types import BY_NAME

FUNCTIONS = tuple(
    n
    for n, f in vars(arithmetic).items()
    if callable(f) and n[0].islower() and f.__module__ == arithmetic.__name__
)
_RESERVED = (*keyword.kwlist, *dir(builtins), *BY_NAME, *FUNCTIONS, "np", "zeros")
_SIMPLE = re.compile(r"[\w.]+|[\w.]+\([^()]*\)")
_BETWEEN_COMMAS = re.compile(r"(?:\(|, )\{(\d)\}(?=[,)])")


class PythonNames:
    """Gives every variable and memory one Python name, its own where that can be.

    A memory's name includes its derivative: ``x``, ``x_bar``, ``x_bar_dot``.
    """

    def __init__(self) -> None:
        self._names = Names(_RESERVED)
        self._variables: dict[str, str] = {}
        self._memories: dict[MemoryKey, str] = {}

    def fresh(self, hint: str) -> str:
        """A unique name."""
        name = re.sub(r"\W", "_", hint)
        return self._names.fresh(name if not name[:1].isdigit() else f"_{name}")

    def variable(self, name: str) -> str:
        """The Python name of the variable `name`."""
        if name not in self._variables:
            self._variables[name] = self.fresh(name)
        return self._variables[name]

    def alias(self, name: str, python: str) -> None:
        """Lets the variable `name` be called `python`, the name of another."""
        self._variables[name] = python

    def memory(self, m: Memory) -> str:
        """The Python name of a memory."""
        if m.key not in self._memories:
            self._memories[m.key] = self.fresh("_".join((m.name, *m.derivative)))
        return self._memories[m.key]


def literal(c: Const) -> str:
    """A constant as a plain Python number, which takes the type of the other operand."""
    if isinstance(c.value, bool):
        return str(c.value)
    text = digits(c)
    return text if math.isfinite(c.value) else f'float("{text}")'


def typed(c: Const) -> str:
    """A constant as a NumPy scalar of its type."""
    return f"{c.type}({literal(c)})" if math.isfinite(c.value) else f'{c.type}("{digits(c)}")'


def filled(template: str, args: tuple[Atom, ...], texts: list[str | None], to: str) -> str:
    """The table's spelling `template` with the arguments in it.

    `texts` are the arguments' expressions, None for constants: these are plain numbers where an
    operator takes its type from the other side, else NumPy scalars.
    """
    between = set(map(int, _BETWEEN_COMMAS.findall(template)))
    weak = len(args) == 2 and not between and texts.count(None) == 1
    filling = []
    for i, (a, text) in enumerate(zip(args, texts, strict=True)):
        if text is None:
            assert isinstance(a, Const)
            number = literal(a) if weak else typed(a)
            filling.append(f"({number})" if number.startswith("-") else number)
        else:
            filling.append(text if i in between or _SIMPLE.fullmatch(text) else f"({text})")
    return template.format(*filling, to=to)
