"""All that functions may read, as deep as their code reaches: whether a call now would do the same as before.

`captured.py` finds the variables and `reach.py` what is reached from them.
"""

from __future__ import annotations

import dis
import types
from collections.abc import Callable, Iterator
from typing import Any

from dsim.runtime.operations.captured import Reader, Snapshot, bound, codes, readers
from dsim.runtime.operations.reach import (
    Marks,
    holds_what_changes,
    is_consumed,
    is_of_library,
    names_in,
    names_of,
    reached,
)

_BY_NAME = frozenset(("eval", "exec", "globals"))


class ReachedValues:
    """What a function and those that it calls read from outside.

    These are variables, defaults, what methods and partial functions are bound to, and from there items of
    containers and attributes, of modules and classes too. Functions are followed wherever they are found.

    Parameters
    ----------
    function : callable
        The function.

    Attributes
    ----------
    names : frozenset of str
        The names of attributes that their code may read.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self._functions: set[types.FunctionType] = set()
        given = tuple(bound(function))
        self._readers = [reader for f in given for reader in self._of(f)]
        self._readers += [("", lambda part=part: part) for part in given]
        self.names = self._follow(frozenset())

    def now(self) -> Snapshot:
        """Their values, as something that can be compared."""
        return tuple((name, Marks(self.names).of(read())) for name, read in self._readers)

    def changing(self) -> list[Reader]:
        """The variables that hold a container or object now, of which others may change parts."""
        return [(name, read) for name, read in self._readers if holds_what_changes(read())]

    def consumed(self) -> str | None:
        """The name of a variable from which an iterator is reached."""
        found = ((name, value) for name, read in self._readers for value in reached(read(), self.names))
        return next((name for name, value in found if is_consumed(value)), None)

    def rebinds(self) -> tuple[str, str] | None:
        """A variable outside of the functions that one of them assigns: the function's name, and its own."""
        for found in self._own():
            for code in codes(found.__code__):
                for step in dis.get_instructions(code):
                    cell = step.opname in ("STORE_DEREF", "DELETE_DEREF")
                    if step.opname in ("STORE_GLOBAL", "DELETE_GLOBAL") or (
                        cell and step.argval in found.__code__.co_freevars
                    ):
                        return found.__name__, step.argval
        return None

    def finds_by_name(self) -> tuple[str, str] | None:
        """What finds variables by computed names: a function of these, or "", and by what, as ``eval``."""
        for name, read in self._readers:
            if any(read() is each for each in (eval, exec, globals)):
                return "", name
        for found in self._own():
            for code in codes(found.__code__):
                if _BY_NAME.isdisjoint(code.co_names):
                    continue
                for step in dis.get_instructions(code):
                    if step.opname == "LOAD_GLOBAL" and step.argval in _BY_NAME.difference(found.__globals__):
                        return found.__name__, step.argval
        return None

    def _follow(self, known: frozenset[str]) -> frozenset[str]:
        """Adds what is read by functions that are reached; the names in the code of all, and `known`."""
        names: frozenset[str] | None = None
        asked = set(known)
        while True:
            before, names = names, names_in(code for f in self._own() for code in codes(f.__code__)) | asked
            if names == before:
                return names
            values = [value for _, read in self._readers for value in reached(read(), names)]
            asked.update(name for value in values for name in names_of(value))
            self._readers += [reader for value in values for reader in self._of(value)]

    def _of(self, value: Any) -> Iterator[Reader]:
        known = set(self._functions)
        yield from readers(value, self._functions, scopes=True)
        for found in self._functions - known:
            if not is_of_library(found):
                yield from _defaults(found)

    def _own(self) -> list[types.FunctionType]:
        return [f for f in self._functions if not is_of_library(f)]


class ReachedFrom(ReachedValues):
    """What functions read that are given a value: from there, and by the functions that they find there.

    Parameters
    ----------
    value : object
        The value.
    names : frozenset of str
        The names of attributes that their code may read.
    """

    def __init__(self, value: Any, names: frozenset[str]) -> None:
        self._functions = set()
        self._readers = [("", lambda: value)]
        if _is_foreign(type(value)) and isinstance(getattr(value, "__dict__", None), dict):
            self._readers.append(("", lambda: dict(vars(value))))  # its functions are not followed
        self.names = self._follow(names)


def _is_foreign(kind: type) -> bool:
    """Whether it is a class of a library, and not of dsim, whose objects keep caches."""
    return is_of_library(kind) and kind.__module__.partition(".")[0] != "dsim"


def _defaults(function: types.FunctionType) -> Iterator[Reader]:
    names = function.__code__.co_varnames[: function.__code__.co_argcount]
    for n in range(-len(function.__defaults__ or ()), 0):
        yield names[n], lambda n=n: (function.__defaults__ or ())[n:][:1]
    for name in function.__kwdefaults__ or ():
        yield name, lambda name=name: (function.__kwdefaults__ or {}).get(name)
