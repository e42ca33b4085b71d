"""Copies of what is no data, by `copy` and `pickle`: kernels and funcs go by their names, like functions.

Tapes and similar objects refuse: they refer to this process and its fields.
"""

from __future__ import annotations

import copy
import sys
import types
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

from dsim.diagnostics import Diagnostic, LaunchTypeError
from dsim.diagnostics.frames import outermost
from dsim.frontend.source.struct_types import StructTypeBase


def uncopied(what: str, advice: str) -> NoReturn:
    """Refuses to copy or pickle `what`."""
    raise LaunchTypeError(Diagnostic("argument", f"{what} cannot be copied or pickled", help=advice))


class ByName:
    """A decorated function: `pickle` keeps where it is found, and of a method its object.

    Attributes
    ----------
    function : callable
        What was decorated.
    """

    word = "function"
    function: Callable[..., Any]
    __name__: str

    def __copy__(self) -> Any:
        return self

    @outermost
    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        """Itself, as of functions; of a method that of the copied object."""
        owner = getattr(self.function, "__self__", None)
        if owner is not None:
            return self if isinstance(owner, type) else getattr(copy.deepcopy(owner, memo), self.__name__)
        held = next(_held(self.function), None)
        if memo and held is not None:  # a part of something that is copied
            message = f"the {self.word} `{self.__name__}` uses its variable `{held}`, also in a copy"
            advice = f"make it a method, which reads it from `self`: `def {self.__name__}(self)`"
            raise LaunchTypeError(Diagnostic("argument", message, help=advice))
        return self

    @outermost
    def __reduce__(self) -> tuple[Any, ...]:
        owner = getattr(self.function, "__self__", None)
        if owner is not None:
            return getattr, (owner, self.__name__)
        path = self.function.__qualname__.split(".")
        module = sys.modules.get(self.function.__module__)
        if module is None or (module.__name__ == "__main__" and not hasattr(module, "__file__")):
            self._refuse_pickling("it is defined in a notebook, where other processes do not find it")
        found: Any = module
        for name in path:
            found = found.method(name) if isinstance(found, StructTypeBase) else getattr(found, name, None)
        if found is not self:
            own = "it is local" if "<locals>" in path else "its name refers to something else there"
            self._refuse_pickling(f"{own}: it cannot be found as `{'.'.join(path)}` of its module")
        return _found, (module.__name__, path)

    def _refuse_pickling(self, why: str) -> NoReturn:
        message = f"the {self.word} `{self.__name__}` cannot be pickled: {why}"
        advice = "define it at the top level of an imported module, or in a class there"
        raise LaunchTypeError(Diagnostic("argument", message, help=advice))


def _found(module: str, path: list[str]) -> Any:
    """What is called `path` in a module."""
    __import__(module)
    found: Any = sys.modules[module]
    for name in path:
        found = found.method(name) if isinstance(found, StructTypeBase) else getattr(found, name)
    return found


_PLAIN = (types.ModuleType, type, types.BuiltinFunctionType)


def _held(function: Any, seen: tuple[Any, ...] = ()) -> Iterator[str]:
    """The variables around a function that hold fields, or objects that may hold some."""
    inner = getattr(function, "__code__", None)
    for name, cell in zip(inner.co_freevars if inner else (), function.__closure__ or (), strict=True):
        try:
            value = cell.cell_contents
        except ValueError:  # not assigned yet
            continue
        if isinstance(value, ByName | types.FunctionType):
            called = getattr(value, "function", value)
            if called not in seen:
                yield from _held(called, (*seen, called))
        elif (hasattr(value, "__dict__") and not isinstance(value, _PLAIN)) or (
            isinstance(value, list | tuple | dict) and value
        ):
            yield name
