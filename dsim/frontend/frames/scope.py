"""The locals of one function while it is lowered: the present value of each name.

Hidden names (they begin with ``#``) hold the flow of control and travel with the locals: ``#live``
(this place is reached), ``#returned`` and ``#result`` of the function, ``#go …`` of each loop (it has not
been left), ``#draws`` (how many random numbers this iteration has drawn).
"""

from __future__ import annotations

import ast
from collections.abc import Container
from dataclasses import dataclass, field

from dsim.diagnostics import Span
from dsim.frontend.values.values import Value

LIVE, RETURNED, RESULT, DRAWS = "#live", "#returned", "#result", "#draws"


def hidden(name: str) -> bool:
    """Whether `name` belongs to the flow of control."""
    return name.startswith("#")


def readable(name: str) -> str:
    """A name for the IR: that of the user's local, or a word for the hidden one."""
    return name.lstrip("#").split(" ")[0]


@dataclass
class Scope:
    """Names and their values.

    Attributes
    ----------
    values : dict
        The visible names.
    gone : dict
        Names whose scope ended with an inner block, and why.
    first : dict
        Where a name got its first value.
    items : set
        Names bound to items of a sequence, in a unrolled loop: to change a part of one
        would change a copy.
    comprehensions : list of dict
        The present, or last, values of the names of the list comprehensions around this place.
    returned : list
        Assignments of calls that gave back the very value of another name: the two names, and the statement.
    """

    values: dict[str, Value] = field(default_factory=dict)
    gone: dict[str, str] = field(default_factory=dict)
    first: dict[str, Span | None] = field(default_factory=dict)
    items: set[str] = field(default_factory=set)
    comprehensions: list[dict[str, Value]] = field(default_factory=list)
    returned: list[tuple[str, str, ast.AST]] = field(default_factory=list)

    def visible(self) -> list[str]:
        """The user's names."""
        return [name for name in self.values if not hidden(name)]

    def close(self, outer: dict[str, Value], reason: str, kept: Container[str] = ()) -> dict[str, Value]:
        """Returns to the names of `outer`, with their present values, and those `kept`.

        The others end for `reason`.
        """
        inner = self.values
        self.values = {name: inner.get(name, value) for name, value in outer.items()}
        for name, value in inner.items():
            if name in outer:
                continue
            if hidden(name) or name in kept:
                self.values[name] = value
            else:
                self.gone[name] = reason
        return inner

    def bind(self, name: str, value: Value, span: Span | None = None) -> None:
        """Binds `name` to `value`."""
        self.values[name] = value
        self.gone.pop(name, None)
        self.first.setdefault(name, span)
