"""Fields: typed arrays that kernels read and write, with their gradients and tangents beside them.

A field's numbers lie in one NumPy buffer that never moves, so that launches are prepared once. What
belongs to it (gradient, tangent, the tangent of the gradient …) are its *companions*: fields of the same
shape, found by their derivative. Where a field lies is `layout.py`'s, getting at single elements
`access.py`'s.
"""

from __future__ import annotations

import itertools
import math
import weakref
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from dsim.diagnostics import Diagnostic, GradientError, LaunchError, LaunchTypeError
from dsim.ir.types import ScalarType
from dsim.runtime import access
from dsim.runtime.stack import STACK

BAR: tuple[str, ...] = ("bar",)
DOT: tuple[str, ...] = ("dot",)
_WORDS = {"bar": "grad", "dot": "dual"}
_numbers = itertools.count()


# What completion offers; the rest is for the runtime.
_FOR_PEOPLE = frozenset(
    [
        "array",
        "copy_from",
        "dtype",
        "dual",
        "element_shape",
        "entry_shape",
        "fill",
        "from_numpy",
        "grad",
        "m",
        "n",
        "name",
        "needs_dual",
        "needs_grad",
        "shape",
        "to_numpy",
    ]
)


class Field:
    """Numbers of one type on a grid; vectors and matrices of them with `entry_shape`.

    Made by ``field()``, ``Vector.field()`` and ``Matrix.field()``, never directly.

    Attributes
    ----------
    dtype : ScalarType
        The type of the numbers.
    shape : tuple of int
        The lengths of the axes that indices run over; ``()`` for a single entry.
    entry_shape : tuple of int
        ``()`` for numbers, ``(n,)`` for vectors, ``(n, m)`` for matrices.
    derivative : tuple of str
        What it is of its root: ``("bar",)`` the gradient, ``("dot",)`` the tangent, and so on.
    number : int
        Later fields have higher ones.
    """

    __dsim_field__ = True

    def __init__(self, dtype: ScalarType, entry_shape: tuple[int, ...], name: str) -> None:
        self.dtype = dtype
        self.entry_shape = entry_shape
        self.given_name = name
        self.number = next(_numbers)
        self._root: Field | None = None  # not itself: a field that nobody knows goes at once
        self.derivative: tuple[str, ...] = ()
        self.companions: dict[tuple[str, ...], Field] = {}  # of a root, shared by all of them
        self.buffer: np.ndarray | None = None
        self.wanted = True  # by a person; scratch companions of a tape are not
        self.touched = False  # a gradient or tangent that may be other than zero
        self.shape: tuple[int, ...] = ()
        self.operations: dict[Any, Any] = {}  # what Python does to it, as forms (hostops.py)

    @property
    def root(self) -> Field:
        """The field that this is a gradient or tangent of, or itself."""
        return self if self._root is None else self._root

    # -- names

    @property
    def name(self) -> str:
        """What a person calls it, as far as dsim knows: ``x``, ``x.grad``."""
        base = self.root.given_name or "the field"
        return ".".join((base, *(_WORDS[d.rstrip("0123456789")] for d in self.derivative)))

    @property
    def quoted(self) -> str:
        """The name for the middle of a sentence: in backquotes when it is one."""
        return f"`{self.name}`" if self.root.given_name else self.name

    def __repr__(self) -> str:
        kind = {0: "field", 1: "vector field", 2: "matrix field"}[len(self.entry_shape)]
        of = f" of {'×'.join(map(str, self.entry_shape))}" if self.entry_shape else ""
        where = f"shape {self.shape}" if self.buffer is not None else "not placed"
        called = f" {self.name}" if self.root.given_name else ""
        return f"<{kind}{called}{of}: {self.dtype}, {where}>"

    def __dir__(self) -> list[str]:
        return [n for n in object.__dir__(self) if n.startswith("__") or n in _FOR_PEOPLE]

    def __str__(self) -> str:
        self.looked_at()
        return repr(self) if self.buffer is None else str(self.buffer)

    # -- placement and companions

    @property
    def placed(self) -> bool:
        """Whether it has memory that a person may use."""
        return self.buffer is not None and self.wanted

    @property
    def full_shape(self) -> tuple[int, ...]:
        """The shape of its memory: that of the field, then that of an entry."""
        return self.shape + self.entry_shape

    def allocate(self, shape: tuple[int, ...]) -> None:
        """Gives it memory, of zeros, if it has none."""
        if self.buffer is None:
            self.shape = shape
            self.buffer = _zeros(shape + self.entry_shape, self.dtype.numpy)
            _HOLDERS[id(owner(self.buffer))] = self
            if self.derivative:
                _COMPANIONS.add(self)

    def companion(self, derivative: tuple[str, ...]) -> Field:
        """The field that stands to the root as `derivative` says; without memory until it gets some."""
        root = self.root
        if not derivative:
            return root
        found = root.companions.get(derivative)
        if found is None:
            found = type(root)(self.dtype, self.entry_shape, "")
            found._root, found.derivative, found.companions = root, derivative, root.companions
            found.shape, found.wanted = root.shape, False
            root.companions[derivative] = found
        return found

    def want(self, derivative: tuple[str, ...]) -> Field:
        """The companion as one that a person asked for, with memory as soon as the root has it."""
        found = self.companion(derivative)
        found.wanted = True
        if self.root.buffer is not None:
            found.allocate(self.root.shape)
        return found

    def scratch(self, derivative: tuple[str, ...]) -> Field:
        """The companion with memory, whoever asked for it."""
        found = self.companion(derivative)
        found.allocate(self.root.shape)
        return found

    @property
    def grad(self) -> Field:
        """The gradient of the loss with respect to this field: a field of the same shape."""
        return self._differential(BAR, "gradient")

    @property
    def dual(self) -> Field:
        """The tangent of this field in forward mode: a field of the same shape."""
        return self._differential(DOT, "tangent")

    def _differential(self, step: tuple[str, ...], what: str) -> Field:
        if not self.dtype.is_float:
            message = f"{self.quoted} holds {self.dtype}: integers have no {what}"
            raise GradientError(Diagnostic("missing-gradient", message, help="make it a float field"))
        return self.companion(self.derivative + step)

    @property
    def needs_grad(self) -> bool:
        """Whether it has a gradient."""
        return self._has(BAR)

    @property
    def needs_dual(self) -> bool:
        """Whether it has a tangent."""
        return self._has(DOT)

    def _has(self, step: tuple[str, ...]) -> bool:
        found = self.companions.get(self.derivative + step)
        return found is not None and found.wanted

    @property
    def numbers(self) -> int:
        """How many numbers an entry has."""
        return math.prod(self.entry_shape)

    def require(self) -> np.ndarray:
        """Its memory.

        Raises
        ------
        LaunchError
            When it has none yet.
        """
        if self.buffer is None or not self.wanted:
            raise self._unplaced()
        return self.buffer

    def require_memory(self) -> np.ndarray:
        """Its memory, whoever wanted it."""
        assert self.buffer is not None
        return self.buffer

    def _unplaced(self) -> LaunchError | GradientError:
        if not self.derivative or self.root.buffer is None:
            advice = "give `shape=` to `field(…)`, or call `root.place(…)` or `root.dense(…).place(…)` first"
            return LaunchError(Diagnostic("unplaced", f"{self.quoted} has not been placed yet", help=advice))
        whose = Field.companion(self, self.derivative[:-1])
        word, option = (
            ("gradient", "needs_grad") if self.derivative[-1] == "bar" else ("tangent", "needs_dual")
        )
        advice = f"declare the field with `{option}=True`"
        if word == "tangent":
            advice += ", or differentiate with respect to it inside `ad.FwdMode`"
        message = f"{whose.quoted} has no {word}"
        return GradientError(Diagnostic("missing-gradient", message, help=advice))

    # -- the numbers from Python

    def looked_at(self) -> None:
        """Says why its numbers are zero, if that is known: a person wants to see them."""
        if self.derivative and STACK.explain:
            explain = STACK.explain.get(self.derivative[-1])
            if explain is not None:
                explain(self)

    @property
    def n(self) -> int:
        """The number of rows of an entry."""
        return self.entry_shape[0] if self.entry_shape else 1

    @property
    def m(self) -> int:
        """The number of columns of an entry."""
        return self.entry_shape[1] if len(self.entry_shape) == 2 else 1

    @property
    def array(self) -> np.ndarray:
        """Its numbers as they are and will be: a NumPy view that can be read only."""
        self.looked_at()
        view = self.require().view()
        view.flags.writeable = False
        return view

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        view = self.array
        if dtype is not None and np.dtype(dtype) != view.dtype:
            return view.astype(dtype)
        return view.copy() if copy else view

    def __getitem__(self, key: Any) -> Any:
        if (
            key is None
            and self.buffer is not None
            and self.wanted
            and not (self.shape or self.entry_shape or self.derivative or STACK.open)
        ):
            return self.buffer.item()  # the loss, mostly
        return access.get(self, key)

    def __setitem__(self, key: Any, value: Any) -> None:
        access.put(self, key, value)

    def __len__(self) -> int:
        raise TypeError(f"{self.quoted} has no len(): its shape is {self.shape}")

    def __iter__(self) -> Iterator[Any]:
        raise TypeError(f"{self.quoted} can be looped over in a kernel only: use .to_numpy() in Python")

    def to_numpy(self, keep_dims: bool = False, dtype: Any = None) -> np.ndarray:
        """A copy of its numbers, of shape `shape` and then that of an entry.

        `keep_dims` is Taichi's: matrices of one column keep both axes here in any case.
        """
        if not isinstance(keep_dims, bool):  # a type, as in Taichi's fields of numbers
            dtype = keep_dims
        if STACK.open:
            STACK.open[-1].element_read(self)
        self.looked_at()
        return self.require().astype(self.dtype.numpy if dtype is None else dtype)

    def from_numpy(self, values: Any) -> None:
        """Sets its numbers to those of an array of the same shape.

        Raises
        ------
        LaunchTypeError
            When the shape differs, or the array's numbers cannot be numbers of the field's type.
        """
        buffer = self.require()
        array = access.fitting_array(self, np.asarray(values))
        if not STACK.open:
            buffer[...] = array
            self.touched = True
            return
        staging = self.operations.get("staging")
        if staging is None:
            staging = self.operations["staging"] = Field(self.dtype, self.entry_shape, "given")
            staging.allocate(self.shape)
        staging.require()[...] = array  # its copying is linear: nobody reads it again
        STACK.open[-1].copied(self, staging)

    def copy_from(self, other: Field) -> None:
        """Sets its numbers to those of a field of the same shape."""
        if not isinstance(other, Field):
            raise LaunchTypeError(Diagnostic("argument", f"copy_from() takes a field, not {kind_of(other)}"))
        buffer, source = self.require(), other.require()
        if other.full_shape != self.full_shape:
            shapes = f"shape {self.full_shape} cannot take the numbers of shape {other.full_shape}"
            message = f"{self.quoted} of {shapes}"
            raise LaunchTypeError(Diagnostic("shape", message))
        other.looked_at()
        if STACK.open:
            STACK.open[-1].copied(self, other)
        else:
            buffer[...] = source
            self.touched = True

    def fill(self, value: Any) -> None:
        """Sets every entry to `value`: a number, or in a field of vectors a vector."""
        buffer = self.require()
        values = access.entry_numbers(self, value)
        if STACK.open:
            STACK.open[-1].filled(self, values)
        elif len(values) == 1:
            buffer.fill(values[0])
            self.touched = True
        else:
            buffer[...] = np.array(values, buffer.dtype).reshape(self.entry_shape)
            self.touched = True


def newest() -> int:
    """A number that fields made later exceed."""
    return next(_numbers)


_COMPANIONS: weakref.WeakSet[Field] = weakref.WeakSet()
_HOLDERS: weakref.WeakValueDictionary[int, Field] = weakref.WeakValueDictionary()  # by what owns the memory


def owner(array: np.ndarray) -> Any:
    """The object whose memory an array is a view of, or the array itself."""
    while isinstance(array, np.ndarray) and array.base is not None:
        array = array.base
    return array


def holder(array: np.ndarray) -> Field | None:
    """The field of whose memory `array` is a part, if it is."""
    found = _HOLDERS.get(id(owner(array)))
    return found if found is not None and found.buffer is not None else None


def kind_of(value: object) -> str:
    """What a value is that is no field, for messages."""
    return "a NumPy array" if isinstance(value, np.ndarray) else type(value).__name__


def youngest(fields: Iterable[Field]) -> Field:
    """The field that was made last.

    What concerns several fields is kept with that one: so no field keeps later ones alive.
    """
    return max((f.root for f in fields), key=lambda f: f.number)


def companions_with_memory(last: str) -> list[Field]:
    """All fields with memory that are the `last` (``bar`` or ``dot``) of something."""
    return [f for f in list(_COMPANIONS) if f.derivative[-1] == last]


def _zeros(shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """Zeros at an address that vector instructions like."""
    size = math.prod(shape) * dtype.itemsize
    try:
        raw = np.zeros(size + 64, np.uint8)
    except (MemoryError, ValueError, OverflowError):
        message = (
            f"a field of shape {shape} and type {dtype} needs {size / 2**30:.3g} GiB, which cannot be had"
        )
        raise LaunchError(Diagnostic("memory", message, help="make it smaller")) from None
    start = -raw.ctypes.data % 64
    return raw[start : start + size].view(dtype).reshape(shape)
