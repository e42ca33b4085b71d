"""Elements of a field from Python: checking indices and values, getting, putting.

Single elements are for setting up and inspecting results. All errors about an index or a
value are raised here, with the same text for every field.
"""

from __future__ import annotations

import math
import operator
from dataclasses import replace
from typing import Any, Protocol

import numpy as np

from dsim.diagnostics import BoundsError, Diagnostic, LaunchTypeError
from dsim.diagnostics.frames import outermost
from dsim.diagnostics.places import caller
from dsim.ir.types import ScalarType
from dsim.runtime.fields.brought import numbers_of
from dsim.runtime.fields.host_values import host_numbers
from dsim.runtime.fields.host_values.values import Array
from dsim.runtime.fields.storage import Storage
from dsim.runtime.state.notices import warn
from dsim.runtime.state.stack import opened


class Numbers(Protocol):
    """A field or a component of one: typed numbers."""

    @property
    def dtype(self) -> ScalarType:
        """The type of the numbers."""
        ...

    @property
    def full_shape(self) -> tuple[int, ...]:
        """The shape of an array of its numbers."""
        ...

    @property
    def quoted(self) -> str:
        """Its name for the middle of a sentence."""
        ...


class FieldElement(Array):
    """A vector or matrix read from a field: setting one of its numbers sets the field's too."""

    __slots__ = ("_at", "_field", "_kept")
    _at: tuple[int, ...]
    _field: Storage
    _kept: np.ndarray

    @property
    def _a(self) -> np.ndarray:
        """Its numbers at the time of the access; reading them counts as reading the field."""
        if opened():
            opened()[-1].element_read(self._field)
        self._field.looked_at()
        return self._kept

    @property
    def shape(self) -> tuple[int, ...]:
        """The lengths of the axes; reading them does not count as reading the field."""
        return self._kept.shape

    @outermost
    def __getitem__(self, key: Any) -> Any:
        found = host_numbers.got(self._a, key, self._field.quoted)
        return Array._of(found.copy()) if isinstance(found, np.ndarray) else found.item()

    @outermost
    def __setitem__(self, key: Any, value: Any) -> None:
        shape = self._kept.shape
        places = host_numbers.got(np.arange(self._kept.size).reshape(shape), key, self._field.quoted)
        given = given_array(self._field, value)
        try:
            numbers = np.broadcast_to(given, np.shape(places)).ravel().tolist()
        except ValueError:
            message = f"{np.shape(places)} numbers of {self._field.quoted} cannot become a value of shape"
            raise LaunchTypeError(Diagnostic("shape", f"{message} {given.shape}")) from None
        fitting = [fitting_number(self._field, n) for n in numbers]
        for place, number in zip(np.ravel(places), fitting, strict=True):
            self._kept.flat[place] = number
            _put_number(self._field, (*self._at, *map(int, np.unravel_index(place, shape))), number)


def get(field: Storage, key: Any) -> Any:
    """The element at `key`: a Python number, or a vector or matrix that writes through."""
    buffer = field.require()
    at = position(field, key)
    if not field.entry_shape:
        if opened():
            opened()[-1].element_read(field)
        field.looked_at()
        return buffer.item(at)
    element = FieldElement.__new__(FieldElement)
    element._kept, element._field, element._at = buffer[at].copy(), field, at
    return element


def put(field: Storage, key: Any, value: Any) -> None:
    """Sets the element at `key`."""
    buffer = field.require()
    at = position(field, key)
    if not field.entry_shape:
        _put_number(field, at, value)
        return
    numbers = entry_numbers(field, value, spread=False)
    if opened():
        for inner, number in zip(np.ndindex(field.entry_shape), numbers, strict=True):
            opened()[-1].element_written(field, at + inner, number)
    else:
        buffer[at] = np.array(numbers, buffer.dtype).reshape(field.entry_shape)
        field.written_by_python()


def _put_number(field: Storage, at: tuple[int, ...], value: Any) -> None:
    """Sets one number of the field's memory."""
    number = value if type(value) is float and field.dtype.is_float else fitting_number(field, value)
    if opened():
        opened()[-1].element_written(field, at, number)
    else:
        field.require()[at] = number
        field.written_by_python()


def position(field: Storage, key: Any) -> tuple[int, ...]:
    """`key` as a tuple of integers inside the field's shape, counted from 0."""
    if key is None:
        at: tuple[Any, ...] = ()
    elif type(key) is int:
        at = (key,)
    elif isinstance(key, tuple):
        at = key
    elif isinstance(key, list | Array):
        at = tuple(key)
    else:
        at = (key,)
    shape = field.shape
    if len(at) != len(shape):
        raise _wrong_count(field, key, at)
    if field.offset:
        return _checked(field, at)
    for k, n in zip(at, shape, strict=True):
        if type(k) is not int or not 0 <= k < n:
            return _checked(field, at)
    return at


def _wrong_count(field: Storage, key: Any, at: tuple[Any, ...]) -> LaunchTypeError:
    count = len(field.shape)
    if not count:
        message, advice = (
            f"{field.quoted} has a single entry, got index {_shown(at)}",
            f"write `{field.name}[None]`",
        )
    elif key is None:
        message, advice = f"{field.quoted} of shape {field.shape} needs {count} indices, got None", ""
    else:
        plural = "indices" if count > 1 else "index"
        message, advice = f"{field.quoted} of shape {field.shape} needs {count} {plural}, got {len(at)}", ""
        if len(at) > count and field.entry_shape:
            own = f"`{field.name}[{_shown(at[:count])}][{_shown(at[count:])}]`"
            advice = f"the index of an entry follows: {own}"
    return LaunchTypeError(Diagnostic("index", message, help=advice if field.root.given_name else ""))


def _shown(at: tuple[Any, ...]) -> str:
    return ", ".join(map(str, at))


def _checked(field: Storage, at: tuple[Any, ...]) -> tuple[int, ...]:
    """`at` as Python integers from 0: the slow path of the check."""
    whole: list[int] = []
    offset = field.offset or (0,) * len(at)
    for axis, (k, n, first) in enumerate(zip(at, field.shape, offset, strict=True)):
        try:
            number = operator.index(k)
        except TypeError:
            message = f"an index of {field.quoted} must be an integer, got {type(k).__name__}"
            raise LaunchTypeError(Diagnostic("index", message)) from None
        if not 0 <= number - first < n:
            outside = out_of_bounds(field.quoted, at, field.shape, axis, first)
            raise BoundsError(replace(outside, help=outside.help or "look at its `shape`"))
        whole.append(number - first)
    return tuple(whole)


def indices_of(field: Storage, at: tuple[int, ...]) -> tuple[int, ...]:
    """The indices by which a user knows the element at `at`, which counts from 0."""
    return tuple(k + first for k, first in zip(at, field.offset, strict=True)) if field.offset else at


def out_of_bounds(
    quoted: str, at: tuple[Any, ...], shape: tuple[int, ...], axis: int, first: int = 0
) -> Diagnostic:
    """The error for the index `at` that lies outside `shape` along `axis`, which starts with `first`."""
    index, length = at[axis], shape[axis]
    which = f"index {_shown(at)}" if len(at) == 1 else f"index ({_shown(at)})"
    advice = "negative indices are out of bounds" if index < 0 and not first else ""
    where = f"{f'axis {axis}' if len(at) > 1 else 'it'} goes from {first} to {first + length - 1}"
    return Diagnostic("out-of-bounds", f"{which} is outside {quoted} of shape {shape}: {where}", help=advice)


def fitting_number(field: Numbers, value: Any) -> Any:
    """`value` as a Python number of the field's type.

    An integer beyond its range wraps around, with a warning.
    """
    if isinstance(value, np.ndarray | Array):
        array = given_array(field, value)
        if array.size != 1:
            message = f"{field.quoted} holds numbers, got a value of shape {array.shape}"
            raise LaunchTypeError(Diagnostic("shape", message))
        value = array.reshape(()).item()
    try:
        return scalar(field.dtype, value)
    except (TypeError, ValueError, OverflowError) as wrong:
        if isinstance(wrong, OverflowError) and field.dtype.is_integer:
            kept = host_numbers.wrapped(int(value), field.dtype.numpy)
            _say_wraps(field, f"{value} does not fit into {field.dtype}: it becomes {kept}")
            return kept
        raise LaunchTypeError(Diagnostic("type", f"{field.quoted} holds {field.dtype}: {wrong}")) from None


def scalar(dtype: ScalarType, value: Any) -> Any:
    """`value` as a Python number of type `dtype`.

    Raises
    ------
    TypeError, ValueError, OverflowError
        When it is not a number, or not one that the type has.
    """
    if isinstance(value, str | bytes | complex | np.complexfloating) or value is None:
        raise TypeError(f"got {type(value).__name__}")
    if dtype.is_float:
        return float(value)
    if dtype.kind == "bool":
        return bool(value)
    if isinstance(value, float | np.floating):
        if not math.isfinite(value) or value != int(value):
            raise ValueError(f"{value} is not an integer")
        value = int(value)
    whole = operator.index(value)
    low, high = integer_limits(dtype)
    if not low <= whole <= high:
        raise OverflowError(f"{whole} is outside {low} … {high}")
    return whole


def _say_wraps(field: Numbers, message: str) -> None:
    wider = "ds.i64" if field.dtype.bits < 64 else "ds.f64"
    advice = f"give {field.quoted} a wider type, such as `{wider}`, or reduce the number first"
    warn([Diagnostic("type-change", message, caller(), help=advice)])


def _is_whole(array: np.ndarray) -> bool:
    """Whether all numbers of an array of floats are integers."""
    return bool(np.all(np.isfinite(array)) and np.all(array == np.trunc(array)))


def integer_limits(dtype: ScalarType) -> tuple[int, int]:
    """The smallest and the largest number of an integer type."""
    if dtype.kind == "uint":
        return 0, (1 << dtype.bits) - 1
    return -(1 << dtype.bits - 1), (1 << dtype.bits - 1) - 1


def entry_numbers(field: Storage, value: Any, spread: bool = True) -> tuple[Any, ...]:
    """The numbers of one entry, in order; one number fills all of them where `spread` allows."""
    shape = field.entry_shape
    if not shape:
        return (fitting_number(field, value),)
    array = given_array(field, value)
    count = math.prod(shape)
    if array.ndim == 0 and spread:
        return (fitting_number(field, array[()]),) * count
    if array.dtype == object or array.shape not in (shape, (*shape, 1)):
        kind = "vectors" if len(shape) == 1 else "matrices"
        message = f"{field.quoted} holds {kind} of shape {shape}, got a value of shape {array.shape}"
        raise LaunchTypeError(Diagnostic("shape", message))
    return tuple(fitting_number(field, v) for v in array.ravel().tolist())


def _to_shape(wanted: tuple[int, ...], given: tuple[int, ...]) -> str:
    """Help text: the expression that gives an array the required shape."""
    if not given:
        return f"`np.full({wanted}, number)` fills an array with one number"
    if math.prod(given) == math.prod(wanted):
        return f"append `.reshape({wanted})` to the array"
    return f"assign an array of that shape, such as `np.zeros({wanted})`"


def given_array(field: Numbers, values: Any) -> np.ndarray:
    """`values` as an array, of whatever shape."""
    try:
        return numbers_of(values)
    except TypeError as wrong:
        raise LaunchTypeError(Diagnostic("argument", f"{field.quoted} takes numbers: {wrong}")) from None


def fitting_array(field: Numbers, array: np.ndarray, given: str = "array") -> np.ndarray:
    """`array` if its shape is the field's and its numbers can be numbers of the field's type."""
    if array.shape != field.full_shape:
        message = f"{field.quoted} takes an array of shape {field.full_shape}, got {array.shape}"
        raise LaunchTypeError(Diagnostic("shape", message, help=_to_shape(field.full_shape, array.shape)))
    kind, dtype = array.dtype.kind, field.dtype
    fits = kind in ("fiub" if dtype.is_float else "iub") or (kind == "f" and _is_whole(array))
    if not fits:
        article = "an" if given == "array" else "a"
        fractions = " with fractional numbers" if kind == "f" else ""
        message = f"{field.quoted} holds {dtype}, got {article} {given} of {array.dtype}{fractions}"
        convert = f".astype(np.{dtype.numpy.name})" if given == "array" else f"ds.cast(…, ds.{dtype})"
        advice = f"convert it{' in a kernel' if given != 'array' else ''}: `{convert}`" if kind == "f" else ""
        raise LaunchTypeError(Diagnostic("type", message, help=advice))
    if dtype.is_integer and array.size:
        low, high = integer_limits(dtype)
        if int(array.min()) < low or int(array.max()) > high:
            numbers = f"numbers of the {given} are outside {low} … {high}"
            if kind == "f":
                message = f"{field.quoted} holds {dtype}: {numbers}"
                raise LaunchTypeError(Diagnostic("type", message))
            _say_wraps(field, f"{numbers}, what {dtype} holds: they wrap around")
            return array.astype(dtype.numpy)
    return array
