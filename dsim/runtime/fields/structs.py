"""Structs outside kernels: named numbers, vectors, matrices and structs, of a struct type or of none.

A struct captured by a kernel is a constant there. Elements of struct fields are structs too, of another
kind (`struct_fields.py`).
"""

from __future__ import annotations

import copy
import math
import types
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from dsim.diagnostics import Diagnostic, LaunchTypeError
from dsim.diagnostics.frames import outermost
from dsim.frontend.source.struct_types import StructTypeBase, unknown_member
from dsim.frontend.values.types import MatrixType
from dsim.runtime.fields import access
from dsim.runtime.fields.host_values.values import Array, Builtin
from dsim.runtime.state.settings import default_type

RESERVED = ("keys", "items", "to_dict")  # attributes of structs, unless members are called so


class HostStruct(metaclass=Builtin):
    """Named values outside kernels; those of a struct type keep the types of its members.

    Parameters
    ----------
    given : mapping, optional
        The members, unless they are given as keywords.

    Attributes
    ----------
    keys : list of str
        The names of the members, in order.
    items : items of a dictionary
        Names and values of the members.
    to_dict : callable
        Gives the members as a dictionary of numbers, lists and dictionaries.
    """

    __slots__ = ("_kind", "_values")
    __hash__ = None  # type: ignore[assignment]
    _builtin_name = "Struct"

    @outermost
    def __init__(self, given: Mapping[str, Any] | None = None, /, **members: Any) -> None:
        if (given is None) == (not members) or not isinstance(given, Mapping | HostStruct | None):
            raise TypeError("a struct is made of keywords, or of one dictionary: `Struct(a=1.0, b=2.0)`")
        found = members_of(given) if given is not None else members
        check_names(found)
        self._fill(None, {name: _untyped(name, value) for name, value in found.items()})

    @classmethod
    def typed(cls, kind: StructTypeBase, values: Mapping[str, Any]) -> HostStruct:
        """A struct of type `kind`; `values` has all its members, which are converted."""
        made = HostStruct.__new__(HostStruct)
        made._fill(kind, {name: fitting(t, values[name], _called(kind, name)) for name, t in kind.members})
        return made

    def _fill(self, kind: StructTypeBase | None, values: dict[str, Any]) -> None:
        object.__setattr__(self, "_kind", kind)
        object.__setattr__(self, "_values", values)

    # -- overridden by elements of fields

    def _names(self) -> Iterable[str]:
        return self._values

    def _get(self, name: str) -> Any:
        return self._values[name]

    def _put(self, name: str, value: Any) -> None:
        if self._kind is not None:
            self._values[name] = fitting(self._kind.type_of(name), value, _called(self._kind, name))
        else:
            self._values[name] = _like(name, _untyped(name, value), self._values[name])

    # -- for people

    def __getitem__(self, name: str) -> Any:
        if name not in self._names():
            raise KeyError(self._unknown(name))
        return self._get(name)

    def __setitem__(self, name: str, value: Any) -> None:
        if name not in self._names():
            raise KeyError(self._unknown(name))
        self._put(name, value)

    def __getattr__(self, name: str) -> Any:
        if name in ("_kind", "_values", "_field", "_at") or name.startswith("__"):  # not made yet
            raise AttributeError(name)
        if name in self._names():
            return self._get(name)
        if name in RESERVED:
            return _RESERVED[name](self)
        method = self._kind.method(name) if self._kind is not None else None
        if method is None:
            raise AttributeError(self._unknown(name))
        return types.MethodType(method, self)

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in self._names():
            raise AttributeError(self._unknown(name))
        self._put(name, value)

    def _unknown(self, name: str) -> str:
        what = f"`{self._kind.name}`" if self._kind is not None and self._kind.name else "this struct"
        return no_member(what, name, self._names())

    def __dir__(self) -> list[str]:
        methods = [name for name, _ in self._kind.methods] if self._kind is not None else []
        return [*self._names(), *methods, *RESERVED]

    def __len__(self) -> int:
        return len(list(self._names()))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, HostStruct) and as_dictionary(self) == as_dictionary(other)

    def __copy__(self) -> HostStruct:
        return _restored(self._kind, self.__dsim_struct_value__)

    def __deepcopy__(self, memo: dict[int, Any]) -> HostStruct:
        return self.__copy__()  # members are copied already

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (self._kind, self.__dsim_struct_value__)

    def __repr__(self) -> str:
        name = self._kind.name if self._kind is not None else ""
        return f"{name or 'Struct'}({', '.join(f'{k}={v!r}' for k, v in members_of(self).items())})"

    # -- the protocol by which the frontend and launches know structs

    @property
    def __dsim_struct__(self) -> StructTypeBase | None:
        return self._kind

    @property
    def __dsim_struct_value__(self) -> dict[str, Any]:
        return {name: self._get(name) for name in self._names()}


def _called(kind: StructTypeBase, name: str) -> str:
    """The name of the member `name` in messages."""
    return f"{kind.name}.{name}" if kind.name else name


def as_dictionary(value: HostStruct) -> dict[str, Any]:
    """The members as a dictionary of numbers, lists and dictionaries."""
    return {name: _as_plain(member) for name, member in members_of(value).items()}


_RESERVED: dict[str, Callable[[HostStruct], Any]] = {
    "keys": lambda s: list(members_of(s)),
    "items": lambda s: members_of(s).items(),
    "to_dict": lambda s: lambda: as_dictionary(s),
}


def members_of(value: Mapping[str, Any] | HostStruct) -> Mapping[str, Any]:
    """The members of a struct, or of a dictionary that stands for one."""
    return value.__dsim_struct_value__ if isinstance(value, HostStruct) else value


def check_names(names: Iterable[object], methods: Iterable[str] = ()) -> None:
    """Raises a `TypeError` when one of `names` cannot be a member's."""
    for name in names:
        if not isinstance(name, str) or not name.isidentifier() or name.startswith("__"):
            raise TypeError(f"a member of a struct cannot be called {name!r}: it needs a plain name")
        if hasattr(HostStruct, name) or name in methods:
            what = "the struct has a method" if name in methods else "structs have an attribute"
            raise TypeError(f"a member of a struct cannot be called `{name}`: {what} of this name")


def no_member(what: str, name: str, known: Iterable[str]) -> str:
    """The error about a missing member, in one line."""
    return ": ".join(unknown_member(what, name, known))


# ------------------------------------------------------------------ values of members


def fitting(to: Any, value: Any, what: str) -> Any:
    """A copy of `value` as a member of type `to`.

    Raises
    ------
    LaunchTypeError
        When it does not fit.
    """
    if isinstance(to, StructTypeBase):
        if not isinstance(value, HostStruct | Mapping) or set(members_of(value)) != set(to.keys):
            keys = ", ".join(f"`{k}`" for k in to.keys)
            raise _refused(what, f"a struct of {keys}", value)
        return HostStruct.typed(to, members_of(value))
    scalar = default_type(to.dtype if isinstance(to, MatrixType) else to)
    assert scalar is not None
    try:
        if not isinstance(to, MatrixType):
            return access.scalar(scalar, _number(value))
        array = np.asarray(value.to_numpy() if isinstance(value, Array) else value)
        array = np.full(to.shape, array[()]) if array.ndim == 0 else array
        if array.shape != to.shape:
            raise TypeError(f"got a value of shape {array.shape}")
        numbers = [access.scalar(scalar, v) for v in array.ravel().tolist()]
        return Array(np.array(numbers, scalar.numpy).reshape(to.shape))
    except (TypeError, ValueError, OverflowError) as wrong:
        shape = f" of shape {to.shape}" if isinstance(to, MatrixType) else ""
        raise LaunchTypeError(Diagnostic("type", f"`{what}` holds {scalar}{shape}: {wrong}")) from None


def _number(value: Any) -> Any:
    """`value`, which must be one number."""
    if isinstance(value, np.ndarray | Array | HostStruct | Mapping | list | tuple):
        raise TypeError(f"got {type(value).__name__}")
    return value


def _refused(what: str, wanted: str, value: Any) -> LaunchTypeError:
    return LaunchTypeError(Diagnostic("type", f"`{what}` is {wanted}, got {described(value)}"))


def described(value: Any) -> str:
    """What `value` is, for messages."""
    if isinstance(value, HostStruct | Mapping):
        return f"a struct of {', '.join(f'`{k}`' for k in members_of(value))}"
    return type(value).__name__


def struct_of(kind: StructTypeBase, numbers: Iterator[Any]) -> HostStruct:
    """A struct of type `kind` made of the next of `numbers`, member by member."""
    values: dict[str, Any] = {}
    for name, t in kind.members:
        if isinstance(t, StructTypeBase):
            values[name] = struct_of(t, numbers)
        elif isinstance(t, MatrixType):
            count = math.prod(t.shape)
            values[name] = np.array([next(numbers) for _ in range(count)]).reshape(t.shape)
        else:
            values[name] = next(numbers)
    return HostStruct.typed(kind, values)


def _untyped(name: str, value: Any) -> Any:
    """`value` as a member of a struct without a type."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, bool | int | float):
        return value
    if isinstance(value, HostStruct):
        return copy.copy(value)
    if isinstance(value, Mapping):
        return HostStruct(value)
    if isinstance(value, Array | np.ndarray | list | tuple):
        return Array(value)
    raise TypeError(f"the member `{name}` of a struct cannot be a {type(value).__name__}")


def _like(name: str, value: Any, old: Any) -> Any:
    """`value`, when it can take the place of `old`."""
    if isinstance(old, Array):
        fits = isinstance(value, Array) and value.shape == old.shape
    elif isinstance(old, HostStruct):
        fits = isinstance(value, HostStruct) and list(members_of(value)) == list(members_of(old))
    else:
        fits = not isinstance(value, Array | HostStruct)
    if not fits:
        wanted = "a number" if not isinstance(old, HostStruct | Array) else f"like {old!r}"
        raise _refused(name, wanted, value)
    return value


def _as_plain(value: Any) -> Any:
    if isinstance(value, HostStruct):
        return as_dictionary(value)
    return value.to_list() if isinstance(value, Array) else value


def _restored(kind: StructTypeBase | None, members: Mapping[str, Any]) -> HostStruct:
    return HostStruct(members) if kind is None else HostStruct.typed(kind, members)
