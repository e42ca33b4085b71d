"""A name of a person's program, with what it meant, and whether it means something else by now.

A report of a cell has many, an explorer some.
"""

from __future__ import annotations

import dis
import types
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from dsim.frontend.source.captures import changed, plain
from dsim.frontend.source.paths import MISSING
from dsim.frontend.source.struct_types import StructTypeBase
from dsim.frontend.values.types import ArrayType, MatrixType, Template
from dsim.runtime.fields.fields import Field
from dsim.runtime.fields.struct_fields import StructField
from dsim.runtime.kernels.kernel import Kernel

_LONGEST = 24  # the most characters of a value in a message


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
        now = safely(self.read)
        if now is self.then and not _dropped(now) and (self.made is None or _alike(_made(now), self.made)):
            return ""
        if self.found is not None:
            now = safely(self.found)
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


def safely(read: Callable[[], Any]) -> Any:
    """What `read` gives; `MISSING` where a part of the path is gone."""
    try:
        return read()
    except (LookupError, AttributeError, TypeError):
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


def of_object(name: str, value: Any, read: Callable[[], Any]) -> Dependency:
    """Of an object that is compared by identity, and of a function by its code, too."""
    return Dependency(name, value, read, made=_made(value))


def python_function(value: Any) -> types.FunctionType | None:
    """The Python function of a kernel or func, or of what is one itself; None with rules of its own."""
    if getattr(value, "__dsim_rules__", None) is not None:
        return None
    found = value.function if isinstance(value, Kernel) else getattr(value, "__dsim_func__", value)
    found = getattr(found, "__func__", found)
    return found if isinstance(found, types.FunctionType) else None


def global_names(code: types.CodeType) -> Iterator[str]:
    """The names that code reads from its module, or from the builtins; inner functions' too."""
    codes = [code]
    while codes:
        code = codes.pop()
        codes += (c for c in code.co_consts if isinstance(c, types.CodeType))
        yield from dict.fromkeys(s.argval for s in dis.get_instructions(code) if s.opname == "LOAD_GLOBAL")
