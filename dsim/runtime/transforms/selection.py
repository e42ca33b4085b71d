"""The inputs and outputs of a transform, as users give them, and results of the same structure.

A selection is a list of fields and NumPy arrays; what belongs to it is an array for each, or one vector of
all numbers in order.
"""

from __future__ import annotations

import copy
import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from dsim.diagnostics import Diagnostic, GradientError, SelectionError
from dsim.diagnostics.frames import outermost
from dsim.ir.types import from_numpy
from dsim.runtime.fields.aliases import apart, own_place_each
from dsim.runtime.fields.brought import has_mask
from dsim.runtime.fields.components import Component
from dsim.runtime.fields.fields import Field, kind_of
from dsim.runtime.fields.holders import holder
from dsim.runtime.fields.struct_fields import StructField, has_floats
from dsim.runtime.transforms.given_numbers import real_numbers

Leaf = Field | np.ndarray
_MEMBERS = "pass its float members: `wrt=[particles.x, particles.v]`"


class ByField(Mapping[Any, Any]):
    """Results by the field, or NumPy array, that each belongs to."""

    def __init__(self, leaves: Sequence[Leaf], values: Sequence[Any]) -> None:
        self._leaves = tuple(leaves)
        self._values = {id(leaf): value for leaf, value in zip(leaves, values, strict=True)}

    @outermost
    def __getitem__(self, leaf: Any) -> Any:
        try:
            return self._values[id(leaf)]
        except KeyError:
            found = named(leaf) if isinstance(leaf, Leaf) else repr(leaf)
            these = ", ".join(map(named, self._leaves))
            message = f"there is no result for {found}: the results are for {these}"
            advice = "ask by the field or array itself, as `gradient[x]`"
            raise SelectionError(Diagnostic("argument", message, help=advice)) from None

    def __iter__(self) -> Iterator[Any]:
        return iter(self._leaves)

    def __len__(self) -> int:
        return len(self._leaves)

    def __deepcopy__(self, memo: dict[int, Any]) -> ByField:
        """The numbers are copied; the fields are whose they are."""
        return ByField(self._leaves, copy.deepcopy([*self.values()], memo))

    @outermost
    def __reduce__(self) -> tuple[Any, ...]:
        return ByField, (self._leaves, [*self.values()])

    def __repr__(self) -> str:
        return "\n".join(f"{named(leaf)}: {self[leaf]}" for leaf in self._leaves)


class Selection:
    """Fields and arrays of floats, one or a list of them.

    Parameters
    ----------
    given : Field, ndarray, or sequence of them
        What the user passed.
    what : str
        The parameter by which: ``wrt`` or ``out``.

    Attributes
    ----------
    leaves : tuple of Field or ndarray
        The fields and arrays, in order.
    single : bool
        Whether the user passed one, not a list.
    shapes : tuple of tuple of int
        Their shapes, with the axes of vectors and matrices at the end.
    ends : tuple of int
        For each of them how many numbers it and those before it have.
    dtype : dtype
        The type that holds the numbers of all.

    Raises
    ------
    GradientError
        When there is none, one that has no floats, or the same twice; when elements of `wrt` share memory.
    """

    def __init__(self, given: Any, what: str) -> None:
        self.what = what
        self.single = not isinstance(given, list | tuple)
        self.leaves: tuple[Leaf, ...] = (given,) if self.single else tuple(given)
        if not self.leaves:
            raise self._wrong(f"`{what}=` is empty", "name at least one field")
        for leaf in self.leaves:
            self._check(leaf)
        if len({id(leaf) for leaf in self.leaves}) < len(self.leaves):
            raise self._wrong(f"`{what}=` contains the same field twice", "name it once")
        if what == "wrt":
            self._refuse_shared()
        self.shapes = tuple(
            leaf.full_shape if isinstance(leaf, Field) else leaf.shape for leaf in self.leaves
        )
        self.types = tuple(_type(leaf) for leaf in self.leaves)
        self.dtype = np.result_type(*self.types)
        self.ends = tuple(np.cumsum([math.prod(s) for s in self.shapes]).tolist())

    def _refuse_shared(self) -> None:
        """Refuses views that share memory, or whose elements do: what varies in one varies in the other."""
        arrays = [leaf for leaf in self.leaves if isinstance(leaf, np.ndarray)]
        for a in arrays:
            if not own_place_each(a):
                what = f"elements of the array of shape {a.shape} in `wrt=` share memory"
                raise self._wrong(what, "name the array that it is a view of")
        for a, b in itertools.combinations(arrays, 2):
            if not apart(a, b):
                what = f"arrays of shape {a.shape} and {b.shape} in `wrt=` share memory"
                raise self._wrong(what, "name the array that contains both")

    @property
    def size(self) -> int:
        """How many numbers they have together."""
        return self.ends[-1]

    @property
    def fields(self) -> tuple[Field, ...]:
        """The fields among the leaves."""
        return tuple(leaf for leaf in self.leaves if isinstance(leaf, Field))

    def _check(self, leaf: Any) -> None:
        if isinstance(leaf, StructField):
            floats = any(has_floats(m) for m in leaf.__dsim_struct_field__.values())
            raise self._wrong(
                f"`{self.what}=` takes fields, not a field of structs", _MEMBERS if floats else ""
            )
        if isinstance(leaf, Component):
            raise self._wrong(
                f"`{self.what}=` takes whole fields, not a component of one",
                "pass the field of vectors and pick from the result",
            )
        if isinstance(leaf, Field):
            leaf.root.require()
            leaf.scratch(leaf.derivative)
            is_float, name, holds = leaf.dtype.is_float, leaf.quoted, str(leaf.dtype)
        elif isinstance(leaf, np.ndarray):
            self._refuse_memory_of_field(leaf)
            is_float, name, holds = leaf.dtype.kind == "f", "the array", str(leaf.dtype)
            if has_mask(leaf):
                message = f"`{self.what}=` takes plain arrays: kernels ignore the mask of a masked one"
                raise self._wrong(message, "fill it, as with `.filled(0)`, and give the kernels that array")
            if is_float:
                self._check_type(leaf.dtype)
        else:
            message = f"`{self.what}=` takes fields and NumPy arrays, got {kind_of(leaf)}"
            raise self._wrong(message, f"pass a field or a list of fields: `{self.what}=[x, y]`")
        if not is_float:
            converted = "convert it, as with `.astype(float)`, and give the kernels that array"
            advice = "make it a float field" if isinstance(leaf, Field) else converted
            raise self._wrong(f"`{self.what}=` needs floats, {name} holds {holds}", advice)

    def _refuse_memory_of_field(self, array: np.ndarray) -> None:
        """Refuses a view of a field, ``x.array``: kernels have the field."""
        field = holder(array)
        if field is not None:
            message = f"`{self.what}=` is given an array that is the memory of {field.quoted}"
            raise self._wrong(message, "pass the field itself")

    def _check_type(self, dtype: np.dtype) -> None:
        """Refuses floats that kernels do not have: longer ones, or of another byte order."""
        try:
            from_numpy(dtype)
        except KeyError:
            takes = "floats of up to 64 bits in the machine's byte order"
            message = f"`{self.what}=` takes {takes}, got an array of {dtype}"
            advice = "convert it, as with `.astype(float)`, and give the kernels that array"
            raise self._wrong(message, advice) from None

    def _wrong(self, message: str, advice: str) -> GradientError:
        return GradientError(Diagnostic("argument", message, help=advice))

    def refuse_arrays(self) -> None:
        """Refuses NumPy arrays.

        Raises
        ------
        GradientError
            When there is one.
        """
        if len(self.fields) < len(self.leaves):
            raise self._wrong(
                f"`{self.what}=` takes fields, not NumPy arrays", "pass an `ndarray` or a field"
            )

    # -- one array for each leaf

    def split(self, vector: np.ndarray) -> list[np.ndarray]:
        """The arrays whose numbers, in order, are `vector`: views of it, where their types are equal.

        Further axes of `vector` follow those of the arrays.
        """
        parts = np.split(vector, self.ends[:-1])
        return [
            part.reshape(shape + vector.shape[1:]).astype(dtype, copy=False)
            for part, shape, dtype in zip(parts, self.shapes, self.types, strict=True)
        ]

    def joined(self, arrays: Sequence[np.ndarray], dtype: Any = None) -> np.ndarray:
        """One vector of all numbers."""
        return np.concatenate([np.ravel(a) for a in arrays]).astype(dtype or self.dtype, copy=False)

    def result(self, arrays: Sequence[Any]) -> Any:
        """The arrays as users get them: one by itself, several by their fields."""
        return arrays[0] if self.single else ByField(self.leaves, arrays)

    def given(self, values: Any, what: str) -> list[np.ndarray]:
        """The arrays that a user gives for the leaves, in the structure of `result` or as a sequence.

        Raises
        ------
        GradientError
            When one is missing, too many, or of another shape.
        """
        return [self._fitting(n, value, what) for n, value in enumerate(self._values(values, what))]

    def _values(self, values: Any, what: str) -> Sequence[Any]:
        if self.single:
            return (values,)
        if isinstance(values, Mapping):
            known = {id(key): value for key, value in values.items()}
            missing = [leaf for leaf in self.leaves if id(leaf) not in known]
            if missing or len(known) > len(self.leaves):
                of = named(missing[0]) if missing else f"what `{self.what}=` does not name"
                message = f"{what} has {'no array for' if missing else 'an array for'} {of}"
                raise self._wrong(message, f"give one for each of `{self.what}=`")
            return [known[id(leaf)] for leaf in self.leaves]
        if not isinstance(values, list | tuple) or len(values) != len(self.leaves):
            got = f"{len(values)}" if isinstance(values, list | tuple) else kind_of(values)
            message = f"{what} must be {len(self.leaves)} arrays, one for each of `{self.what}=`, got {got}"
            raise self._wrong(message, "pass a list, or a dictionary by field")
        return values

    def _fitting(self, n: int, value: Any, what: str) -> np.ndarray:
        shape, dtype = self.shapes[n], self.types[n]
        if isinstance(value, Field):
            value = value.to_numpy()
        try:
            array = real_numbers(value, dtype, f"{what} for {named(self.leaves[n])}")
        except (TypeError, ValueError):
            array = None
        if array is None or (array.shape != shape and not array.size == math.prod(shape) == 1):
            got = kind_of(value) if array is None else f"shape {array.shape}"
            message = f"{what} for {named(self.leaves[n])} must be of shape {shape}, got {got}"
            raise self._wrong(message, "give it the shape of `to_numpy()`")
        return array.reshape(shape)

    def __repr__(self) -> str:
        return ", ".join(map(named, self.leaves))


def _type(leaf: Leaf) -> np.dtype:
    return leaf.dtype.numpy if isinstance(leaf, Field) else leaf.dtype


def named(leaf: Any) -> str:
    """What messages call a field or an array."""
    return leaf.quoted if isinstance(leaf, Field) else f"an array of shape {np.shape(leaf)}"


def one_number(out: Any, what: str) -> Selection:
    """The selection of `out`, the parameter `what`, if it holds one number.

    Raises
    ------
    GradientError
        When it holds several.
    """
    found = Selection(out, what)
    if found.size != 1 or not found.single:
        is_list = found.size == 1
        has = "is a list of fields" if is_list else f"has {found.size}"
        message = f"the gradient is that of one number, and `{what}=` {has}"
        sums = "sum into a field of shape (), or use `ds.vjp` or `ds.jacobian`"
        advice = f"pass the field itself: `{what}=y`, not `{what}=[y]`" if is_list else sums
        raise GradientError(Diagnostic("argument", message, help=advice))
    return found
