"""How what a function reads from outside is reached: closure, globals and builtins."""

from __future__ import annotations

import builtins
import dis
import types
from collections.abc import Callable
from typing import Any

from dsim.records import record


class Missing:
    """The value of a name that does not exist."""


MISSING = Missing()


@record(eq=False)
class OfCell:
    """Reads a variable of an enclosing function. A launch does it in its own code, which calls nothing."""

    cell: types.CellType

    def __call__(self) -> Any:
        """Its value now; `MISSING` where it is not assigned yet."""
        try:
            return self.cell.cell_contents
        except ValueError:
            return MISSING


@record(eq=False)
class OfClosure:
    """Reads a variable around a function that another one made by the same `def` may replace."""

    function: Callable[[], Any]
    place: int

    def __call__(self) -> Any:
        """Its value now, around the function that there is now; `MISSING` where there is no such variable."""
        cells = getattr(self.function(), "__closure__", None) or ()
        return OfCell(cells[self.place])() if self.place < len(cells) else MISSING


@record(eq=False)
class OfModule:
    """Reads a global variable. A launch does it in its own code."""

    module: dict[str, Any]
    name: str

    def __call__(self) -> Any:
        """Its value now; `MISSING` where it was deleted."""
        return self.module.get(self.name, MISSING)


@record
class Path:
    """How a captured object is reached: its expression, and a function that evaluates it.

    Attributes
    ----------
    text : str
        ``dt``, ``cfg.dt``, ``offsets[0]``.
    read : callable
        Its value now; `MISSING` where a part of the way is gone.
    """

    text: str
    read: Callable[[], Any]

    def attribute(self, name: str) -> Path:
        """The path of an attribute of this object."""
        read = self.read
        return Path(f"{self.text}.{name}", lambda: getattr(read(), name, MISSING))

    def item(self, key: object) -> Path:
        """The path of an item of this object."""
        read = self.read
        return Path(f"{self.text}[{key!r}]", lambda: _item(read(), key))


def _item(owner: Any, key: object) -> Any:
    try:
        return owner[key]
    except (LookupError, TypeError):
        return MISSING


class Surroundings:
    """The names around a function: its closure, its module, Python's builtins.

    `path` leads to the function, when another one made by the same `def` may replace it.
    """

    def __init__(self, function: types.FunctionType, path: Path | None = None) -> None:
        code = function.__code__
        self.path = path
        self.cells = dict(zip(code.co_freevars, function.__closure__ or (), strict=True))
        self.module: dict[str, Any] = function.__globals__
        self.local = _locals(code)

    def find(self, name: str) -> tuple[Path, int] | None:
        """The path of `name`, and the identity of the scope that holds it; None when it is undefined."""
        if name in self.cells:
            cell, path = self.cells[name], self.path
            if path is None:
                return Path(name, OfCell(cell)), id(cell)
            return Path(name, OfClosure(path.read, list(self.cells).index(name))), id(cell)
        if name in self.module:
            return Path(name, OfModule(self.module, name)), id(self.module)
        if hasattr(builtins, name):
            return Path(name, lambda: getattr(builtins, name)), 0
        return None

    def closure(self) -> dict[str, Path]:
        """The names of the functions around."""
        return {name: self.find(name)[0] for name in self.cells}  # type: ignore[index]

    def names(self) -> list[str]:
        """Those of the closure and of the module, for suggestions."""
        return [*self.cells, *(n for n in self.module if not hasattr(builtins, n))]


def _locals(code: types.CodeType) -> frozenset[str]:
    """The local names of a function.

    Since Python 3.12 those of its comprehensions are among them, also where the function itself means another
    variable by the same name.
    """
    names = {*code.co_varnames, *code.co_cellvars}.difference(code.co_freevars)
    if not names.isdisjoint(code.co_names):
        names -= {step.argval for step in dis.get_instructions(code) if step.opname == "LOAD_GLOBAL"}
    return frozenset(names)
