"""Vectors and matrices outside kernels: small NumPy arrays with the dialect's methods.

Kernels have their own ``Vector`` and ``Array`` in the frontend; a host value captured by a kernel is
a constant there. Fields hand out their entries as these (`access.py`).
"""

from __future__ import annotations

import reprlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from dsim.diagnostics.frames import outermost, trimmed
from dsim.ir.types import ScalarType, from_numpy
from dsim.runtime.fields.host_values import host_numbers
from dsim.runtime.fields.host_values.entrywise import Entrywise
from dsim.runtime.state.settings import default_type


class Builtin(type):
    """A class that the frontend recognises by name in a kernel (not its instances)."""

    @property
    def __dsim_builtin__(cls) -> str:
        return cls.__dict__["_builtin_name"]


def _numpy_dtype(dt: object) -> np.dtype | None:
    if dt is None:
        return None
    known = default_type(dt)
    return known.numpy if known is not None else np.dtype(dt)  # type: ignore[call-overload]


def _plain(values: Any) -> Any:
    """Nested sequences with vectors inside as nested lists."""
    if isinstance(values, Array):
        return values.to_numpy()
    if isinstance(values, list | tuple):
        return [_plain(v) for v in values]
    return values


_SWIZZLES = {letter: at for letters in ("xyzw", "rgba", "stpq") for at, letter in enumerate(letters)}


class Array(Entrywise, metaclass=Builtin):
    """A matrix, or with one axis a vector, outside kernels.

    Parameters
    ----------
    values : nested sequence of numbers
        A list of numbers makes a vector, a list of rows a matrix; an int `n` makes zeros of shape
        (n,), or (n, dt) as in ``Array(2, 3)``.
    dt : type, optional
        The type of the entries.

    Examples
    --------
    >>> Array([[1.0, 2.0], [3.0, 4.0]]) @ Array([1.0, 1.0])
    [3.0, 7.0]
    """

    __slots__ = ("_a",)
    __dsim_matrix__ = True
    __array_priority__ = 1000
    _builtin_name = "Array"

    @outermost
    def __init__(self, values: Any, dt: object = None) -> None:
        try:
            array = host_numbers.made(_plain(values), _numpy_dtype(dt))
        except ValueError:  # of NumPy, for rows of different lengths and for strings
            array = np.array(None)
        if array.ndim not in (1, 2) or array.dtype.kind not in "biuf":
            raise TypeError(
                "a vector is made of a list of numbers, a matrix of a list of rows of equal length, "
                f"got {reprlib.repr(values)}"
            )
        self._a = array

    @classmethod
    def _of(cls, array: np.ndarray) -> Array:
        made = Array.__new__(Array)
        made._a = array
        return made

    # -- what it is made of

    @property
    def n(self) -> int:
        """The number of rows."""
        return self.shape[0]

    @property
    def m(self) -> int:
        """The number of columns; 1 for a vector."""
        return self.shape[1] if self.ndim == 2 else 1

    @property
    def shape(self) -> tuple[int, ...]:
        """The lengths of the axes."""
        return self._a.shape

    def get_shape(self) -> tuple[int, ...]:
        """The same as `shape`."""
        return self.shape

    @property
    def ndim(self) -> int:
        """1 for a vector, 2 for a matrix."""
        return len(self.shape)

    @property
    def entries(self) -> np.ndarray:
        """A copy as a NumPy array, by Taichi's name for it."""
        return self._a.copy()

    @property
    def dtype(self) -> ScalarType:
        """The type of the entries."""
        return from_numpy(self._a.dtype)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return self._a.astype(dtype) if dtype is not None else self._a.copy()

    def to_numpy(self) -> np.ndarray:
        """A copy as a NumPy array."""
        return self._a.copy()

    def to_list(self) -> list[Any]:
        """Nested lists of Python numbers."""
        return self._a.tolist()

    def __len__(self) -> int:
        return self.shape[0]

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(len(self)))

    @outermost
    def __getitem__(self, key: Any) -> Any:
        found = host_numbers.got(self._a, key)
        return Array._of(found.copy()) if isinstance(found, np.ndarray) else found.item()

    @outermost
    def __setitem__(self, key: Any, value: Any) -> None:
        host_numbers.put(self._a, key, value._a if isinstance(value, Array) else value)

    def __copy__(self) -> Array:
        return Array._of(self._a.copy())

    def __deepcopy__(self, memo: dict[int, Any]) -> Array:
        return Array._of(self._a.copy())

    def __reduce__(self) -> tuple[Any, ...]:
        return Array, (self._a,)

    def __getattr__(self, name: str) -> Any:
        if name in ("_a", "_kept"):  # not made yet
            raise AttributeError(name)
        try:
            at = self._named(name)
        except AttributeError as error:
            trimmed(error)
            raise
        return self[at[0]] if len(at) == 1 else self[at]

    def __setattr__(self, name: str, value: Any) -> None:
        if name.startswith("_"):
            object.__setattr__(self, name, value)
            return
        try:
            at = self._named(name)
            if len(at) > 1 and np.shape(value) not in ((), (len(at),)):
                raise ValueError(f"`{name}` denotes {len(at)} numbers, got shape {np.shape(value)}")
            self[at[0] if len(at) == 1 else at] = value
        except Exception as error:
            trimmed(error)
            raise

    def _named(self, name: str) -> list[int]:
        """The places of the entries that ``v.name`` stands for, as in ``v.xy``."""
        if self.ndim == 1 and all(_SWIZZLES.get(c, self.n) < self.n for c in name):
            return [_SWIZZLES[c] for c in name]
        what = f"vector of {self.n}" if self.ndim == 1 else f"matrix of {self.n} by {self.m}"
        raise AttributeError(f"a {what} has no attribute {name!r}")

    def __repr__(self) -> str:
        return str(self._a.tolist())

    @outermost
    def __bool__(self) -> bool:
        raise TypeError("a vector has no truth value: use any() or all()")

    # -- operators; those that go entry by entry are `Entrywise`'s

    @outermost
    def __matmul__(self, o: Any) -> Any:
        a, b = self._a, o._a if isinstance(o, Array) else np.asarray(o)
        if b.ndim == 0 or a.shape[-1] != b.shape[0]:
            raise TypeError(f"shapes {a.shape} and {b.shape} do not match")
        product = a @ b
        return Array._of(product) if isinstance(product, np.ndarray) else product.item()

    # -- what the dialect's vectors and matrices can do

    def norm_sqr(self) -> Any:
        """The sum of the squares of the entries."""
        return (self._a * self._a).sum().item()

    def norm(self, eps: float = 0.0) -> float:
        """``sqrt(norm_sqr() + eps)``."""
        return float(np.sqrt(self.norm_sqr() + eps))

    def norm_inv(self, eps: float = 0.0) -> float:
        """``1 / norm(eps)``."""
        return 1.0 / self.norm(eps)

    def normalized(self, eps: float = 0.0) -> Array:
        """This divided by ``norm() + eps``; zeros stay zeros."""
        length = self.norm() + eps
        return Array._of(self._a / length if length else self._a * 0.0)

    @outermost
    def dot(self, o: Any) -> Any:
        """The scalar product with the vector `o`."""
        return self._with(o, np.multiply).sum()

    @outermost
    def cross(self, o: Any) -> Any:
        """The cross product: a number of 2D vectors, a vector of 3D ones."""
        a, b = self._a, np.asarray(o)
        if a.shape != b.shape or a.shape not in ((2,), (3,)):
            raise TypeError(f"cross() takes two 2D or two 3D vectors, not {a.shape} and {b.shape}")
        if a.shape == (2,):
            return (a[0] * b[1] - a[1] * b[0]).item()
        return Array._of(np.cross(a, b))

    def outer_product(self, o: Any) -> Array:
        """The matrix of the products of the entries of two vectors."""
        return Array._of(np.outer(self._a, np.asarray(o)))

    def transpose(self) -> Array:
        """The transpose; of a vector, a matrix of one row."""
        return Array._of(self._a.T.copy() if self._a.ndim == 2 else self._a[None, :].copy())

    @outermost
    def determinant(self) -> float:
        """The determinant of a square matrix."""
        return float(np.linalg.det(self._square("determinant")))

    @outermost
    def inverse(self) -> Array:
        """The inverse of a square matrix."""
        return Array._of(np.linalg.inv(self._square("inverse")))

    @outermost
    def trace(self) -> Any:
        """The sum of the diagonal of a square matrix."""
        return np.trace(self._square("trace")).item()

    def _square(self, what: str) -> np.ndarray:
        if self._a.ndim != 2 or self._a.shape[0] != self._a.shape[1]:
            raise TypeError(f"{what}() needs a square matrix, not shape {self._a.shape}")
        return self._a

    def sum(self) -> Any:
        """The sum of the entries."""
        return self._a.sum().item()

    def max(self) -> Any:
        """The largest entry."""
        return self._a.max().item()

    def min(self) -> Any:
        """The smallest entry."""
        return self._a.min().item()

    def any(self) -> bool:
        """Whether some entry is not 0."""
        return bool(self._a.any())

    def all(self) -> bool:
        """Whether no entry is 0."""
        return bool(self._a.all())

    def cast(self, dtype: object) -> Array:
        """The same with entries of another type."""
        return Array(self._a, dtype)

    def fill(self, value: Any) -> None:
        """Sets every entry to `value`."""
        self[...] = value

    # -- constructors

    @staticmethod
    def zero(dt: object, n: int, m: int | None = None) -> Array:
        """Zeros: a vector of `n`, or a matrix of `n` rows and `m` columns."""
        return Array._of(np.zeros(n if m is None else (n, m), _numpy_dtype(dt)))

    @staticmethod
    def one(dt: object, n: int, m: int | None = None) -> Array:
        """Ones: a vector of `n`, or a matrix of `n` rows and `m` columns."""
        return Array._of(np.ones(n if m is None else (n, m), _numpy_dtype(dt)))

    @staticmethod
    def unit(n: int, i: int, dt: object = None) -> Array:
        """The vector of length `n` with a 1 at place `i`."""
        return Array._of(np.eye(n, dtype=_numpy_dtype(int if dt is None else dt))[i])

    @staticmethod
    def identity(dt: object, n: int) -> Array:
        """The identity matrix."""
        return Array._of(np.eye(n, dtype=_numpy_dtype(dt)))

    @staticmethod
    def diag(dim: int, val: float) -> Array:
        """The matrix with `val` all along its diagonal."""
        return Array._of(np.eye(dim) * val)

    @staticmethod
    def rows(rows: Sequence[Iterable[Any]]) -> Array:
        """The matrix of these rows."""
        return Array._of(np.stack([np.asarray(r) for r in rows]))

    @staticmethod
    def cols(cols: Sequence[Iterable[Any]]) -> Array:
        """The matrix of these columns."""
        return Array._of(np.stack([np.asarray(c) for c in cols], axis=1))
