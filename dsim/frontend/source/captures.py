"""The Python values that one compilation depends on, and whether they have changed.

Objects of the layers above are recognised by attributes alone (see the ``is_…`` functions), so that
nothing here imports upwards.
"""

from __future__ import annotations

import copy
import enum
import math
import types
from collections.abc import Callable, Iterable, Mapping, Sequence, Sized
from typing import Any, Protocol, cast

import numpy as np

from dsim.frontend.source import snapshots
from dsim.frontend.source.lowered import Capture
from dsim.frontend.source.paths import MISSING, Path
from dsim.frontend.source.struct_types import StructTypeBase, is_host_struct
from dsim.ir.types import ScalarType
from dsim.records import record


class FieldLike(Protocol):
    """A field, as the frontend sees it."""

    @property
    def dtype(self) -> ScalarType:
        """The type of a number in it."""
        ...

    @property
    def shape(self) -> tuple[int, ...]:
        """How many elements along each axis."""
        ...

    @property
    def entry_shape(self) -> tuple[int, ...]:
        """The shape of an element: ``()`` for numbers."""
        ...

    @property
    def placed(self) -> bool:
        """Whether it has a place in memory."""
        ...

    @property
    def root(self) -> FieldLike:
        """The field whose gradient or dual this is; itself for any other."""
        ...

    @property
    def derivative(self) -> tuple[str, ...]:
        """As in `Memory`."""
        ...

    @property
    def offset(self) -> tuple[int, ...]:
        """The first index along each axis; ``()`` when they are 0."""
        ...

    @property
    def component(self) -> tuple[int, ...]:
        """For a component of a field, its index within each entry; ``()`` for any other field."""
        ...

    @property
    def whole(self) -> FieldLike:
        """The field that this is a component of; itself for any other."""
        ...

    @property
    def snode(self) -> Any:
        """The place of this field in the layout."""
        ...

    def parent(self, n: int = 1) -> Any:
        """The node of the layout that is `n` above the place of this field."""
        ...


class StructFieldLike(Protocol):
    """A field of structs, as the frontend sees it."""

    @property
    def __dsim_struct__(self) -> StructTypeBase:
        """The type of its elements."""
        ...

    @property
    def __dsim_struct_field__(self) -> Mapping[str, Any]:
        """Its members: fields, and fields of structs."""
        ...

    @property
    def shape(self) -> tuple[int, ...]:
        """How many elements along each axis; every member has it."""
        ...

    @property
    def offset(self) -> tuple[int, ...]:
        """The first index along each axis; every member has it."""
        ...

    @property
    def placed(self) -> bool:
        """Whether all members have places in memory, of one shape."""
        ...

    @property
    def grad(self) -> StructFieldLike:
        """The gradients of the members that have one."""
        ...

    @property
    def dual(self) -> StructFieldLike:
        """The tangents of the members that have one."""
        ...


def _marked(value: object, mark: str) -> bool:
    """Whether `value` carries the protocol attribute `mark` (a class that describes others does not)."""
    return getattr(value, mark, None) is not None


def is_field(value: object) -> bool:
    """Whether `value` is a field, or a gradient or dual of one."""
    return _marked(value, "__dsim_field__") and not isinstance(value, type)


def is_host_grid(value: object) -> bool:
    """Whether `value` is an ``ndrange`` that Python made."""
    return getattr(type(value), "__dsim_builtin__", None) == "ndrange"


def is_host_matrix(value: object) -> bool:
    """Whether `value` is a vector or matrix of the host."""
    return _marked(value, "__dsim_matrix__") and not isinstance(value, type)


def is_function(value: object) -> bool:
    """Whether `value` can be inlined: a func or a derivative of one."""
    marked = _marked(value, "__dsim_func__") or _marked(value, "__dsim_derivative__")
    return marked and not isinstance(value, type)


def is_layout_node(value: object) -> bool:
    """Whether `value` is a node of the tree in which fields are placed."""
    return _marked(value, "__dsim_layout_node__")


def is_kernel(value: object) -> bool:
    """Whether `value` is a kernel."""
    return _marked(value, "__dsim_kernel__")


def is_operation(value: object) -> bool:
    """Whether `value` is a host operation."""
    return _marked(value, "__dsim_operation__") and not isinstance(value, type)


def constant_module(value: object) -> bool:
    """Whether the numbers in a module never change: Python's math, NumPy, and dsim's own."""
    if not isinstance(value, types.ModuleType):
        return False
    return value is math or value.__name__.split(".")[0] in ("numpy", "dsim")


class Captures:
    """Notes which Python values one compilation depends on.

    Parameters
    ----------
    promoted : frozenset of str
        Names of numbers that become parameters instead of constants.
    """

    def __init__(self, promoted: frozenset[str]) -> None:
        self.promoted = promoted
        self.constants: dict[str, Capture] = {}
        self.hidden: dict[str, Capture] = {}
        self.objects: dict[str, Capture] = {}
        self._roots: dict[str, int] = {}

    def rooted(self, path: Path, scope: int, function: str) -> Path:
        """`path` prefixed with the function's name where another scope has the same name."""
        text, n = path.text, 1
        while self._roots.setdefault(text, scope) != scope:
            text = f"{function}.{path.text}" + (f"_{n}" if n > 1 else "")
            n += 1
        return path if text == path.text else Path(text, path.read)

    def reserve(self, name: str, scope: int) -> None:
        """Paths that begin with `name` belong to `scope`: those of other scopes get a prefix."""
        self._roots.setdefault(name, scope)

    def constant(self, path: Path, value: object) -> None:
        """The number, matrix or sequence `value` is compiled in."""
        self.constants.setdefault(path.text, Capture(path.text, plain(value), PlainRead(path.read)))

    def length(self, path: Path, value: Sized) -> None:
        """The length of `value`, and nothing else of it, is compiled in."""
        text = f"len({path.text})"
        self.constants.setdefault(text, Capture(text, len(value), LengthRead(path.read)))

    def items(self, path: Path, value: Sequence[object]) -> None:
        """The items `value` of a loop over the object at `path` are compiled in."""
        text, read = f"list({path.text})", path.read
        self.constants.setdefault(text, Capture(text, plain(value), lambda: _items(read())))

    def promoted_to(self, path: Path, value: object) -> Capture | None:
        """The number at `path` as one that each launch passes; None when it stays a constant."""
        if path.text not in self.promoted:
            return None
        return self.hidden.setdefault(path.text, Capture(path.text, plain(value), PlainRead(path.read)))

    def object(self, path: Path, value: object) -> None:
        """The field or function `value` is compiled in."""
        self.objects.setdefault(path.text, Capture(path.text, value, path.read))

    def function(self, path: Path, value: object) -> None:
        """The func or plain function `value` is compiled in: its code, and of a method its owner."""
        now = snapshots.watch(path.read, value, MISSING)
        self.objects.setdefault(path.text, Capture(path.text, value, now, path.read))


def length(value: Any) -> object:
    """How many items `value` has; `MISSING` for what has none."""
    try:
        return len(value)
    except TypeError:
        return MISSING


def _items(value: object) -> object:
    return plain(list(value)) if isinstance(value, Iterable) else MISSING


@record(eq=False)
class PlainRead:
    """Reads a value as `plain` returns it."""

    read: Callable[[], Any]

    def __call__(self) -> object:
        """The value now."""
        return plain(self.read())


@record(eq=False)
class LengthRead:
    """Reads the length of a value."""

    read: Callable[[], Any]

    def __call__(self) -> object:
        """The length now."""
        return length(self.read())


_PLAIN = {int, float, bool, str}
_CONTENT: dict[type, Callable[[Any], object]] = {int: int.__int__, float: float.__float__, str: str.__str__}


def plain(value: object) -> object:
    """`value` in a form that ``==`` compares as a whole: arrays as their bytes, containers copied."""
    if type(value) in _PLAIN:  # called at every launch
        return value
    if isinstance(value, np.generic | int | float | str | enum.Enum):
        return _bare(value)
    if isinstance(value, np.ndarray) and not value.dtype.hasobject:
        return value.shape, value.dtype.str, value.tobytes()
    if is_host_struct(value):
        value = tuple(cast("Any", value).__dsim_struct_value__.items())
    if is_host_matrix(value) or isinstance(value, np.ndarray):
        value = np.asarray(cast("Any", value)).tolist()
    if isinstance(value, list | tuple):
        return _tuples(value)
    if isinstance(value, Mapping | set):  # a view of a dictionary cannot be copied
        return dict(value) if isinstance(value, types.MappingProxyType) else copy.copy(value)
    return value


_BY_VALUE = (int, str, bytes, complex, set, frozenset, range)
_DEEPEST = 20  # nested containers; one may contain itself


def changed(now: Any, before: Any, depth: int = 0) -> bool:
    """Whether a captured value, as `plain` returns it, differs from the one that was compiled in.

    NaN equals NaN, and 0.0 differs from -0.0. Other items of its container that are not numbers or
    strings are compared by identity: their own ``==`` may return anything.
    """
    if now is before:
        return False
    if type(now) is not type(before):
        return True
    if isinstance(now, float):
        return float.hex(now) != float.hex(before)
    if isinstance(now, _BY_VALUE):
        return bool(now != before)
    return depth > _DEEPEST or _content_changed(now, before, depth + 1)


def _content_changed(now: Any, before: Any, depth: int) -> bool:
    """`changed` of containers and arrays of one type; of any other object True."""
    if isinstance(now, list | tuple):
        return len(now) != len(before) or any(
            a is not b and changed(a, b, depth) for a, b in zip(now, before, strict=True)
        )
    if isinstance(now, Mapping):
        return list(now) != list(before) or any(changed(now[k], before[k], depth) for k in before)
    if is_host_matrix(now) or is_host_struct(now):
        return changed(plain(now), plain(before), depth)
    if isinstance(now, np.ndarray) and not now.dtype.hasobject:
        return plain(now) != plain(before)
    return True


def _bare(value: np.generic | float | str | enum.Enum) -> object:
    """A NumPy number, or a member of an enumeration, as the plain value that it equals."""
    if isinstance(value, np.generic):
        return value.item()
    for kind, content in _CONTENT.items():
        if isinstance(value, kind):
            return content(value)
    member = cast("enum.Enum", value)  # of a class that may be made anew
    return type(value).__qualname__, member.name, plain(member.value)


def _tuples(value: object) -> object:
    return tuple(plain(v) for v in value) if isinstance(value, list | tuple) else value
