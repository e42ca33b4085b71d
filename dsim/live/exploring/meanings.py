"""What the names of an explorer mean: its run, its fields, what the run reads; later cells may change it."""

from __future__ import annotations

import types
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any, Protocol

import numpy as np
from IPython.core.getipython import get_ipython

from dsim.frontend.source.captures import plain
from dsim.frontend.source.paths import MISSING
from dsim.live.dependency import Dependency, global_names, of_object, python_function
from dsim.runtime.fields.fields import Field
from dsim.runtime.fields.struct_fields import StructField
from dsim.runtime.state.registry import Registry

_NUMBERS = int | float | str | np.generic


class MeaningsOfNames:
    """The names by which a person's program has a run and its fields, as they were when an explorer was made.

    They are those of the notebook, and of the modules of the functions; what neither has never changes.

    Parameters
    ----------
    functions : iterable of callable
        The run, and what prepares it; of methods also what they belong to.
    fields : iterable of Field
        Those that the explorer was given.
    """

    def __init__(self, functions: Iterable[Callable[..., Any]], fields: Iterable[Field]) -> None:
        called = [_inner(each) for each in functions]
        self._functions = [f for f in map(python_function, called) if f is not None]
        owners = [owner for each in called if (owner := _owner(each)) is not None]
        shell: Any = get_ipython()
        notebook: list[dict[str, Any]] = [] if shell is None else [shell.user_ns]
        modules = {id(m): m for m in (*notebook, *(f.__globals__ for f in self._functions))}
        self._own = [
            of_object(name, each, _reader(module, name))
            for module in modules.values()
            for each in (*called, *owners, *fields)
            if (name := _name(each, module))
        ]
        self._read: list[Dependency] = []
        self._given_up = ""

    def give_up(self, reason: str) -> None:
        """Nothing has its meaning any more."""
        self._given_up = reason

    def ran(self) -> None:
        """The run has ended: it has used what the names that it reads mean now."""
        own = {d.name for d in self._own}
        self._read = [d for f in self._functions for d in _reached(f) if d.name not in own]

    @property
    def replaced(self) -> str:
        """Which of its own are others now, in words."""
        return self._given_up or _words(self._own)

    def told(self) -> str:
        """Why what is shown is out of date, and what to do; empty when it is not."""
        if replaced := self.replaced:
            return f"out of date: {replaced}; execute this cell again"
        changes = _words(self._read)
        return f"out of date: {changes}; move a slider to run with that" if changes else ""


def _inner(function: Any) -> Any:
    """What a `functools.partial` calls."""
    while isinstance(function, partial):
        function = function.func
    return function


def _owner(function: Any) -> Any:
    """The object that a method belongs to, also one that is a kernel."""
    return getattr(getattr(function, "function", function), "__self__", None)


def _words(dependencies: Iterable[Dependency]) -> str:
    return ", ".join(dict.fromkeys(told for d in dependencies if (told := d.told())))


def _name(value: Any, module: Mapping[str, Any]) -> str:
    """By which a module has `value`: its own, or another one that is not IPython's; empty without."""
    own = value.name if isinstance(value, Field) else getattr(value, "__name__", "")
    if module.get(own) is value:
        return own
    return next((n for n, found in list(module.items()) if found is value and not n.startswith("_")), "")


def _reader(module: Mapping[str, Any], name: str) -> Callable[[], Any]:
    return lambda: module.get(name, MISSING)


def _reached(function: types.FunctionType) -> Iterator[Dependency]:
    """The functions, fields and numbers that a function and those that it calls read from its module."""
    module, known, left = function.__globals__, set[str](), [function]
    while left:
        for name in global_names(left.pop().__code__):
            value = module.get(name, MISSING)
            if name in known:
                continue
            known.add(name)
            inner = python_function(value) if callable(value) else None
            if inner is not None and inner.__globals__ is module:
                left.append(inner)
            if inner is not None or isinstance(value, Field | StructField):
                yield of_object(name, value, _reader(module, name))
            elif isinstance(value, _NUMBERS):
                yield Dependency(name, plain(value), lambda name=name: plain(module.get(name, MISSING)), True)


class Outdated(Protocol):
    """What may be out of date when a cell has ended."""

    def compare(self) -> None:
        """Says so in the page."""
        ...


_WATCHED: Registry[Outdated] = Registry()


def compare_after_cells(outdated: Outdated) -> None:
    """Calls `compare` of it after each cell of a notebook, as long as it lives."""
    shell: Any = get_ipython()
    if shell is not None:
        _WATCHED.add(outdated)
        shell.events.register("post_run_cell", _ended)


def compare_others(outdated: Outdated) -> None:
    """Calls `compare` of all others of these: this one has run."""
    for each in _WATCHED:
        if each is not outdated:
            each.compare()


def _ended(*_: object) -> None:
    for each in _WATCHED:
        each.compare()
