"""The dependencies of a report beside the text of its cell, and those that have changed.

Values of fields are not among them: a report describes the run that it observed. `living.py` updates
the report.
"""

from __future__ import annotations

import builtins
import types
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from dsim.frontend.expressions.records import RecordType
from dsim.frontend.source.captures import is_host_matrix, is_host_struct, plain
from dsim.frontend.source.paths import MISSING
from dsim.live.dependency import Dependency, global_names, of_object, python_function, safely
from dsim.notebook.cell.cells import Cell, read_at_once
from dsim.notebook.cell.request import CellRequest, borrowed, kept, leads_to
from dsim.notebook.report.locations import harmless
from dsim.runtime.state import settings

_MOST = 3  # the most changes in a message
_NUMBERS = (int, float, str, np.generic, list, tuple, dict)


class Dependencies:
    """The dependencies of the report on `asked`, with their present values.

    Parameters
    ----------
    cell : Cell
        That made the kernels.
    asked : CellRequest
        What the cell asked for; it has been compiled.
    namespace : mapping of str to object
        The names of the notebook.
    """

    def __init__(self, cell: Cell, asked: CellRequest, namespace: Mapping[str, Any]) -> None:
        kernels = {n: k for k in asked.kernels if namespace.get(n := k.__name__) is k}
        self._kernels = [of_object(name, k, _reader(name, namespace)) for name, k in kernels.items()]
        self._others: dict[str, Dependency] = {}
        for d in (*_captured(asked), *_named(asked, namespace), *_read(cell, namespace)):
            if d.by_value or d.name not in self._others:  # what ran keeps copies of arguments
                self._others[d.name] = d
        self._settings = settings.current()

    @property
    def replaced(self) -> bool:
        """Whether the notebook has another kernel by the name of one of these, or none."""
        return any(d.told() for d in self._kernels)

    def numbers(self) -> list[Any]:
        """The present values of the numbers that the next launch reads anew, in any form."""
        return [safely(d.read) for d in self._others.values() if d.by_launch]

    def told(self, numbers: bool = True) -> str:
        """What has changed, in words; empty when nothing has; without `numbers` that launches read anew."""
        others = [d for d in self._others.values() if numbers or not d.by_launch]
        found = [t for t in (d.told() for d in (*self._kernels, *others)) if t]
        if settings.current() != self._settings:
            found.insert(0, "`init()` has changed the settings")
        more = [f"and {len(found) - _MOST} more"] if len(found) > _MOST else []
        return harmless(", ".join([*found[:_MOST], *more]))


def _reader(name: str, namespace: Mapping[str, Any]) -> Callable[[], Any]:
    return lambda: leads_to(name, namespace)


def _captured(asked: CellRequest) -> Iterator[Dependency]:
    """The values compiled into the kernels; the last one ran, and may depend on its arguments."""
    for k in asked.kernels:
        ran = k is asked.kernel and asked.options.runs
        if k.generic and not ran:
            continue  # nothing is compiled
        objects, values = k.captured(*asked.args) if ran else k.captured()
        yield from (replace(of_object(c.name, c.value, c.read), found=c.found) for c in objects)
        yield from (Dependency(c.name, c.value, c.read, by_value=True, by_launch=True) for c in values)
        functions = [python_function(k), *(python_function(c.value) for c in objects)]
        yield from (d for f in functions if f is not None for d in _of_the_language(f))


def _of_the_language(function: types.FunctionType) -> Iterator[Dependency]:
    """The names of builtins and modules in a function: `abs` and `ds` may be rebound."""
    for name in global_names(function.__code__):
        now = partial(_global, function.__globals__, name)
        if _known_to_all(now()):
            yield of_object(name, now(), now)


def _global(module: Mapping[str, Any], name: str) -> Any:
    return module.get(name, getattr(builtins, name, MISSING))


def _known_to_all(value: object) -> bool:
    """Whether `value` is a module, or a function or class of Python's or dsim's own."""
    if isinstance(value, types.ModuleType):
        return True
    named = getattr(value, "__module__", None)
    return callable(value) and isinstance(named, str) and named.split(".")[0] in ("builtins", "dsim")


def _named(asked: CellRequest, namespace: Mapping[str, Any]) -> Iterator[Dependency]:
    """The names that the options, and parameters without a default, take from the notebook."""
    options = asked.options
    names = [*((options.loss,) if options.loss else ()), *options.wrt, *options.forward]
    yield from (of_object(n, leads_to(n, namespace), _reader(n, namespace)) for n in names)
    if not options.runs:
        return
    taken = {name: _reader(name, namespace) for name in borrowed(asked.kernel)}
    yield from (
        _argument(name, read(), read) for name, read in taken.items() if name not in asked.kernel.records
    )
    for name, record in asked.kernel.records.items():
        read = taken.get(name) or partial(asked.kernel.default, name)
        yield from _members(record, read(), read)


def _members(record: RecordType, value: Any, read: Callable[[], Any]) -> Iterator[Dependency]:
    """The class of a dataclass, and each of its members."""
    yield Dependency(record.name, type(value), lambda: type(read()), found=read)
    for name, annotation in record.members.items():
        if not hasattr(value, name):
            continue  # it was deleted, and launches refuse it
        of = partial(_member, record, value, read, name)
        if isinstance(annotation, RecordType):
            yield from _members(annotation, of(), of)
        else:
            yield _argument(f"{record.name}.{name}", of(), of)


def _member(record: RecordType, then: Any, read: Callable[[], Any], name: str) -> Any:
    """A member as it is now; as it was then, where all of the dataclass is gone, which is told once."""
    now = safely(read)
    return getattr(now if isinstance(now, record.kind) else then, name)


def _read(cell: Cell, namespace: Mapping[str, Any]) -> Iterator[Dependency]:
    """The names of the notebook that the cell itself reads: for a default, an annotation, an assignment."""
    for name in read_at_once(cell):
        read = _reader(name, namespace)
        value = safely(read)
        if value is not MISSING:  # else a name of Python's, or of the cell
            yield _whole(name, value, read)


def _argument(name: str, value: Any, read: Callable[[], Any]) -> Dependency:
    """What a launch takes from the notebook."""
    found = _whole(name, value, read)
    return replace(found, by_launch=found.by_value)


def _whole(name: str, value: Any, read: Callable[[], Any]) -> Dependency:
    """A number, or several of them in any form, by value; any other object by identity."""
    if isinstance(value, _NUMBERS) or is_host_matrix(value) or is_host_struct(value):
        return Dependency(name, plain(kept(value)), lambda: plain(read()), by_value=True)
    return of_object(name, value, read)
