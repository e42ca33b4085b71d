"""What functions reach from a variable: items, and attributes whose names occur in their code.

Numbers, strings, arrays and other buffers in there are compared by value, what has no parts by identity.
`reached_values.py` says which variables there are.
"""

from __future__ import annotations

import contextvars
import ctypes
import dis
import functools
import io
import marshal
import operator
import pickle
import random
import sys
import sysconfig
import threading
import types
from array import array
from collections import ChainMap, UserDict, UserList, deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import MISSING
from mmap import mmap
from typing import Any
from weakref import ref

import numpy as np

from dsim.frontend.inlining.callables import LIBRARIES
from dsim.frontend.source.captures import plain
from dsim.runtime.fields.fields import Field
from dsim.runtime.state.references import ByName

_MOST_BYTES = 1 << 16  # of an array or buffer that is compared number by number
_MOST_BYTES_OF_LARGE = 1 << 22  # of all larger arrays that one comparison goes through
_MOST = 2_000  # objects that are compared, beside numbers
_DEEPEST = 8  # parts of parts
_BUFFERS = (bytearray, memoryview, array, mmap, *ctypes.Structure.__bases__)  # the last of all of ctypes
_CONTAINERS = (list, tuple, set, frozenset, deque)
_INSTALLED = tuple({sysconfig.get_path(kind) for kind in ("stdlib", "platstdlib", "purelib", "platlib")})
_NUMBERS = {int, float, bool, str, bytes, complex, type(None)}
_HOST_VALUES = {"__dsim_matrix__", "__dsim_struct_value__"}  # vectors, matrices and structs of the host
_WHOLE = (types.FunctionType, ByName, Field)
_FUNCTIONS = (types.BuiltinFunctionType, types.CodeType, types.MethodWrapperType, types.WrapperDescriptorType)
# The special methods that no expression, loop or `with` calls: they make an object, copy it or show it.
_ASIDE = frozenset(
    f"__{name}__"
    for name in (
        "init", "new", "init_subclass", "class_getitem", "set_name", "del", "repr", "str", "dir", "sizeof",
        "copy", "deepcopy", "reduce", "reduce_ex", "getstate", "setstate",
    )
)  # fmt: skip
_MATCHED = "__match_args__"  # patterns of classes ask for the attributes that are named there
_MAKING = ("__init__", "__new__", "__post_init__")
_HOLDERS: dict[type, Callable[[Any], tuple[Any, ...]]] = {
    functools.partial: lambda value: (value.func, value.args, value.keywords),
    types.MethodType: lambda value: (value.__func__, value.__self__),
    functools._lru_cache_wrapper: lambda value: (value.__wrapped__,),
    contextvars.ContextVar: lambda value: (value.get(None),),
    ref: lambda value: (value(),),
    types.MappingProxyType: lambda value: (dict(value),),
    **dict.fromkeys(map(type, ({}.keys(), {}.values(), {}.items())), lambda value: (dict(value.mapping),)),
    np.vectorize: lambda value: (value.pyfunc,),
    ChainMap: lambda value: tuple(value.maps),
    UserDict: lambda value: (value.data,),
    UserList: lambda value: (value.data,),
}
Part = tuple[Any, bool]  # and whether its own parts count


def mark(value: Any) -> Any:
    """A number, a string, a small array or other buffer by value, any other object by identity."""
    if isinstance(value, int | float | complex | str | bytes | np.generic):
        return type(value), repr(value)
    if isinstance(value, np.ndarray) and value.nbytes <= _MOST_BYTES and value.dtype != object:
        return _numbers(value)
    if isinstance(value, _BUFFERS):
        return _bytes_of(value) or Same(value)
    return Same(value)


def _numbers(value: np.ndarray) -> tuple[str, tuple[int, ...], bytes]:
    return value.dtype.str, value.shape, value.tobytes()


def _bytes_of(buffer: Any) -> tuple[type, bytes] | None:
    """What is in the memory of a buffer; None if it is large, or no longer there."""
    try:
        memory = memoryview(buffer)
    except ValueError:  # a view that was released, or a mapped file that was closed
        return None
    return (type(buffer), memory.tobytes()) if memory.nbytes <= _MOST_BYTES else None


def names_in(codes: Iterable[types.CodeType]) -> frozenset[str]:
    """What these codes may read as names of attributes: also strings, as ``getattr`` takes them."""
    found: set[str] = set()
    for code in codes:
        found.update(c for c in code.co_consts if isinstance(c, str))
        for step in dis.get_instructions(code):
            if step.opname == "MATCH_CLASS":
                found.add(_MATCHED)
            elif step.opcode in dis.hasname and not step.opname.startswith("STORE_"):
                found.add(step.argval)
    return frozenset(found)


def names_of(value: Any) -> Iterator[str]:
    """The names of attributes that an `operator.attrgetter` or `operator.methodcaller` asks for."""
    if isinstance(value, operator.attrgetter | operator.methodcaller):
        for part in value.__reduce__()[1]:
            if isinstance(part, str):  # and no argument of a method
                yield from part.split(".")


class Marks:
    """One comparison of what code with some names reaches from one variable.

    Parameters
    ----------
    names : frozenset of str
        As `names_in` returns them.
    draws : bool, default True
        Whether the place of generators of random numbers counts.
    """

    def __init__(self, names: frozenset[str], draws: bool = True) -> None:
        self._names, self._draws, self._left, self._around = names, draws, _MOST, set[int]()
        self._bytes_left = _MOST_BYTES_OF_LARGE

    def of(self, value: Any) -> Any:
        """The mark of a value with those of its parts."""
        own = mark(value)
        if not isinstance(own, Same):
            return own
        if isinstance(value, np.ndarray) and value.dtype != object:
            self._bytes_left -= value.nbytes
            return _numbers(value) if self._bytes_left >= 0 else own
        if type(value) in _CONTAINERS and _NUMBERS.issuperset(map(type, value)):
            return type(value), marshal.dumps(list(value), 2)  # exact, and a hundred times as fast
        self._left -= 1
        drawn = _position(value)
        if drawn is not None:
            return own, drawn if self._draws else None
        if self._left < 0 or len(self._around) > _DEEPEST or id(value) in self._around:
            return own
        own = (type(value), len(value)) if isinstance(value, (*_CONTAINERS, dict)) else own
        self._around.add(id(value))
        inner = [
            self.of(part) if deep else mark(part)
            for part, deep in _parts(value, self._names, len(self._around) == 1)
        ]
        self._around.discard(id(value))
        return own, tuple(inner)


def reached(value: Any, names: frozenset[str]) -> Iterator[Any]:
    """The value and its parts, each once; with the functions of classes that code with these names calls."""
    seen: set[int] = set()
    pending = [(value, 0)]
    while pending and len(seen) < _MOST:
        found, depth = pending.pop()
        if id(found) in seen or isinstance(mark(found), tuple):
            continue
        seen.add(id(found))
        yield found
        yield from _functions(found)
        if depth <= _DEEPEST:
            pending += [(part, depth + 1) for part, deep in _parts(found, names, False) if deep]


def holds_what_changes(value: Any) -> bool:
    """Whether others may change parts of it: a container or object, or a module or class of the user's.

    Variables of functions and bound objects are reached by themselves.
    """
    if isinstance(value, types.ModuleType | type):
        return not _is_fixed(value)
    plain_array = isinstance(value, np.ndarray) and not value.dtype.hasobject
    return not (plain_array or isinstance(mark(value), tuple) or isinstance(value, (*_WHOLE, *_FUNCTIONS)))


def is_consumed(value: Any) -> bool:
    """Whether it is an iterator whose place cannot be seen."""
    return isinstance(value, Iterator) and not isinstance(value, io.IOBase) and not hasattr(value, "__dict__")


def _parts(value: Any, names: frozenset[str], whole: bool) -> Iterator[Part]:
    """What a value consists of; of an object all attributes if `whole`, those without a name shallowly."""
    if isinstance(value, _CONTAINERS) or (isinstance(value, np.ndarray) and value.dtype == object):
        yield from _of_container(value, names, whole)
    elif isinstance(value, dict) and "__builtins__" in value:  # the variables of a module
        yield from ((value[name], True) for name in sorted(names & value.keys()))
    elif isinstance(value, dict):
        yield from ((part, True) for item in tuple(value.items())[:_MOST] for part in item)
    elif isinstance(value, tuple(_HOLDERS)):
        held = next(read for kind, read in _HOLDERS.items() if isinstance(value, kind))
        yield from ((part, True) for part in held(value))
    elif isinstance(value, types.BuiltinMethodType):
        yield value.__self__, True
    elif _HOST_VALUES.intersection(_class_names(type(value))):
        yield plain(value), True
    elif isinstance(value, types.FunctionType | types.ModuleType | type):
        yield from _of_scope(value, names)
    elif not isinstance(value, _WHOLE) and not is_of_library(type(value)):
        yield from _of_object(value, names, whole)


def _of_container(value: Any, names: frozenset[str], whole: bool) -> Iterator[Part]:
    items = value.flat if isinstance(value, np.ndarray) else value
    yield from ((item, True) for item in tuple(items)[:_MOST])
    if type(value) not in _CONTAINERS and not is_of_library(type(value)):
        yield from _of_object(value, names, whole)


def _of_scope(value: types.FunctionType | types.ModuleType | type, names: frozenset[str]) -> Iterator[Part]:
    """The attributes of a function, module or class; of Python's own the state of random numbers alone."""
    if isinstance(value, types.FunctionType):
        yield value.__code__, False
    if value is np and "random" in names:
        yield np.random.get_state, True  # whose owner draws
    if value is random:
        yield random.random, True
    if _is_fixed(value):
        return
    scopes = (*value.__mro__[:-1], *_metaclasses(value)) if isinstance(value, type) else (value,)
    for scope in scopes:
        yield from ((vars(scope)[name], True) for name in sorted(names & vars(scope).keys()))


def _metaclasses(value: type) -> Iterator[type]:
    return (kind for kind in type.mro(type(value)) if not _is_fixed(kind))


def _of_object(value: Any, names: frozenset[str], whole: bool) -> Iterator[Part]:
    read = getattr if isinstance(value, threading.local) else object.__getattribute__
    try:
        held = dict(read(value, "__dict__"))  # no `__getattr__` of the user runs
    except (AttributeError, TypeError):
        held = {}
    if _MATCHED in names:
        names |= frozenset(getattr(type(value), _MATCHED, ()))
    held.pop("_dsim_methods", None)  # kernels of this object, made when they are first used
    for name, item in held.items():
        if whole or name in names:
            yield name, False
            yield item, name in names
    for scope in type(value).__mro__[:-1]:
        own = set() if _is_fixed(scope) else vars(scope).keys()
        for name in sorted(names & own - held.keys()):
            item = vars(scope)[name]
            slot = isinstance(item, types.MemberDescriptorType)
            yield (getattr(value, name, None) if slot else item), True


def _functions(value: Any) -> Iterator[Any]:
    """The functions behind properties, and those of the user's classes that operators and calls call.

    A call of a class calls those that make an object.
    """
    if isinstance(value, property):
        yield from (value.fget, value.fset)
    elif isinstance(value, staticmethod | classmethod | functools.cached_property):
        yield value.func if isinstance(value, functools.cached_property) else value.__func__
    elif isinstance(value, type):
        scopes = [vars(scope) for scope in value.__mro__[:-1] if not _is_fixed(scope)]
        yield from (own[n] for own in scopes for n in _MAKING if n in own)
        fields = (f for own in scopes for f in own.get("__dataclass_fields__", {}).values())
        yield from (f.default_factory for f in fields if f.default_factory is not MISSING)
        yield from (f for kind in _metaclasses(value) for n, f in vars(kind).items() if n not in _ASIDE)
    elif not isinstance(value, (*_WHOLE, types.ModuleType)) and not is_of_library(type(value)):
        for scope in type(value).__mro__[:-1]:
            own = {} if _is_fixed(scope) else vars(scope)
            yield from (own[n] for n in own if n.startswith("__") and n.endswith("__") and n not in _ASIDE)


def is_of_library(value: Any) -> bool:
    """Whether a module, class or function is one of NumPy, dsim and the like."""
    module = value.__name__ if isinstance(value, types.ModuleType) else getattr(value, "__module__", None)
    return str(module).partition(".")[0] in LIBRARIES


def _is_fixed(value: types.FunctionType | types.ModuleType | type) -> bool:
    """Whether it comes with Python or is installed: what is in it seldom changes."""
    name = value.__name__ if isinstance(value, types.ModuleType) else value.__module__
    found = sys.modules.get(name)
    path = getattr(found, "__file__", None)
    return is_of_library(value) or (found is not None and name != "__main__" and _is_installed(path))


@functools.cache
def _is_installed(path: str | None) -> bool:
    return path is None or path.startswith(_INSTALLED)


def _class_names(kind: type) -> Iterator[str]:
    for scope in kind.__mro__:
        yield from vars(scope)


def _position(value: Any) -> bytes | None:
    """Where a generator of random numbers stands; None of anything else."""
    if isinstance(value, random.Random):
        return pickle.dumps(value.getstate())
    kind = type(value)
    if not str(kind.__module__).startswith("numpy.random"):  # arrays of ctypes have no module
        return None
    read: Callable[[], Any] | None = getattr(value, "get_state", None)
    state = read() if read is not None else getattr(getattr(value, "bit_generator", value), "state", None)
    return pickle.dumps(state)


class Same:
    """Equal to a mark of the same object only, which it keeps alive."""

    def __init__(self, value: Any) -> None:
        self._value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Same) and other._value is self._value

    def __hash__(self) -> int:
        return id(self._value)
