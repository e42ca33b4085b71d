"""The dependencies of a report beside the text of its cell, and those that have changed.

Values of fields are not among them: a report describes the run that it observed. `living.py` updates
the report.
"""

from __future__ import annotations

import builtins
import dis
import types
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from dsim.frontend.expressions.records import RecordType
from dsim.frontend.source.captures import MISSING, changed, is_host_matrix, is_host_struct, plain
from dsim.frontend.source.struct_types import StructTypeBase
from dsim.frontend.values.types import ArrayType, MatrixType, Template
from dsim.notebook.cell.cells import Cell, read_at_once
from dsim.notebook.cell.request import CellRequest, borrowed, kept, leads_to
from dsim.notebook.report.locations import harmless
from dsim.notebook.report.subject import python_function
from dsim.runtime.fields.fields import Field
from dsim.runtime.fields.struct_fields import StructField
from dsim.runtime.state import settings

_LONGEST = 24  # the most characters of a value in a message
_MOST = 3  # the most changes in a message
_NUMBERS = (int, float, str, np.generic, list, tuple, dict)


@dataclass(frozen=True)
class Dependency:
    """A dependency of a report.

    Attributes
    ----------
    name : str
        Its expression in the user's program.
    then : object
        Its value when the report was made.
    read : callable
        Returns its present value.
    by_value : bool
        Whether it is compared by equality; otherwise by identity.
    by_launch : bool
        Whether each launch reads it anew; otherwise only running the cell does.
    made : tuple or None
        Of a function its code and its defaults then.
    found : callable or None
        Returns the present object, where `read` only reports that it has changed.
    """

    name: str
    then: Any
    read: Callable[[], Any]
    by_value: bool = False
    by_launch: bool = False
    made: tuple[types.CodeType, object] | None = None
    found: Callable[[], Any] | None = None

    def told(self) -> str:
        """What has changed, in words; empty when nothing has."""
        try:
            return self._compared()
        except Exception as error:  # noqa: BLE001  # of a property, a `__getattr__`: the user's own code
            return f"`{self.name}` can no longer be read: {type(error).__name__}"

    def _compared(self) -> str:
        now = _safely(self.read)
        if now is self.then and not _dropped(now) and (self.made is None or _alike(_made(now), self.made)):
            return ""
        if self.found is not None:
            now = _safely(self.found)
        if now is MISSING:
            return f"`{self.name}` is no longer defined"
        if now is self.then and _dropped(now):
            return f"`{self.name}` was dropped by `reset()`"
        if self.by_value:
            return self._number(now) if changed(now, self.then) else ""
        return "" if self._repeated(now) else f"`{self.name}` was redefined"

    def _number(self, now: Any) -> str:
        """Another value, in words."""
        both = [repr(v) for v in (now, self.then) if isinstance(v, int | float | str)]
        if len(both) == 2 and max(map(len, both)) <= _LONGEST:
            return f"`{self.name}` is {both[0]}, and was {both[1]}"
        return f"`{self.name}` has a different value"

    def _repeated(self, now: Any) -> bool:
        """Whether `now` is a function that the same text made, because its cell ran again."""
        if isinstance(now, MatrixType | StructTypeBase) and now == self.then:
            return True
        then, found = python_function(self.then), python_function(now)
        if then is None or found is None or _owner(now) is not _owner(self.then):
            return False
        return (
            _alike(_made(now), self.made)
            and found.__globals__ is then.__globals__
            and _same_types(found.__annotations__, then.__annotations__)
            and found.__closure__ is then.__closure__ is None
        )


def _same_types(found: Mapping[str, Any], then: Mapping[str, Any]) -> bool:
    """Whether parameters are annotated alike: ``template()`` and ``types.ndarray()`` make new objects."""
    return found.keys() == then.keys() and all(_same_type(found[name], then[name]) for name in found)


def _same_type(a: Any, b: Any) -> bool:
    if isinstance(a, Template | ArrayType):
        return type(a) is type(b) and vars(a) == vars(b)
    return bool(a is b or a == b)


def _dropped(value: object) -> bool:
    if isinstance(value, StructField):
        return any(_dropped(value.get_member_field(key)) for key in value.keys)
    return isinstance(value, Field) and value.root.dropped


def _safely(read: Callable[[], Any]) -> Any:
    try:
        return read()
    except (LookupError, AttributeError, TypeError):  # a part of the path is gone
        return MISSING


def _owner(value: Any) -> Any:
    """The object that a method belongs to."""
    return getattr(getattr(value, "__dsim_func__", value), "__self__", None)


def _made(value: Any) -> tuple[types.CodeType, object] | None:
    """Of a function what may be set in place, as reloading does: its code and its defaults."""
    function = python_function(value)
    if function is None:
        return None
    return function.__code__, plain([*(function.__defaults__ or ()), dict(function.__kwdefaults__ or {})])


def _alike(found: tuple[types.CodeType, object] | None, then: tuple[types.CodeType, object] | None) -> bool:
    """Whether code and defaults are the same."""
    if found is None or then is None:
        return found is then
    return found[0] == then[0] and not changed(found[1], then[1])


# ------------------------------------------------------------------ of a cell


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
        self._kernels = [_object(name, k, _reader(name, namespace)) for name, k in kernels.items()]
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
        return [_safely(d.read) for d in self._others.values() if d.by_launch]

    def told(self, numbers: bool = True) -> str:
        """What has changed, in words; empty when nothing has; without `numbers` that launches read anew."""
        others = [d for d in self._others.values() if numbers or not d.by_launch]
        found = [t for t in (d.told() for d in (*self._kernels, *others)) if t]
        if settings.current() != self._settings:
            found.insert(0, "`init()` has changed the settings")
        more = [f"and {len(found) - _MOST} more"] if len(found) > _MOST else []
        return harmless(", ".join([*found[:_MOST], *more]))


def _object(name: str, value: Any, read: Callable[[], Any]) -> Dependency:
    return Dependency(name, value, read, made=_made(value))


def _reader(name: str, namespace: Mapping[str, Any]) -> Callable[[], Any]:
    return lambda: leads_to(name, namespace)


def _captured(asked: CellRequest) -> Iterator[Dependency]:
    """The values compiled into the kernels; the last one ran, and may depend on its arguments."""
    for k in asked.kernels:
        ran = k is asked.kernel and asked.options.runs
        if k.generic and not ran:
            continue  # nothing is compiled
        objects, values = k.captured(*asked.args) if ran else k.captured()
        yield from (replace(_object(c.name, c.value, c.read), found=c.found) for c in objects)
        yield from (Dependency(c.name, c.value, c.read, by_value=True, by_launch=True) for c in values)
        functions = [python_function(k), *(python_function(c.value) for c in objects)]
        yield from (d for f in functions if f is not None for d in _of_the_language(f))


def _of_the_language(function: types.FunctionType) -> Iterator[Dependency]:
    """The names of builtins and modules in a function: `abs` and `ds` may be rebound."""
    codes = [function.__code__]
    while codes:
        code = codes.pop()
        codes += (c for c in code.co_consts if isinstance(c, types.CodeType))
        read = (s.argval for s in dis.get_instructions(code) if s.opname == "LOAD_GLOBAL")
        for name in dict.fromkeys(read):
            now = partial(_global, function.__globals__, name)
            if _known_to_all(now()):
                yield _object(name, now(), now)


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
    yield from (_object(n, leads_to(n, namespace), _reader(n, namespace)) for n in names)
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
    now = _safely(read)
    return getattr(now if isinstance(now, record.kind) else then, name)


def _read(cell: Cell, namespace: Mapping[str, Any]) -> Iterator[Dependency]:
    """The names of the notebook that the cell itself reads: for a default, an annotation, an assignment."""
    for name in read_at_once(cell):
        read = _reader(name, namespace)
        value = _safely(read)
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
    return _object(name, value, read)
