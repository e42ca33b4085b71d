"""Help texts that name the replacement of Python functions which kernels do not support.

`calls` decides whether something can be called.
"""

from __future__ import annotations

import builtins
from types import ModuleType
from typing import Any

import numpy as np

from dsim.frontend.values import elementary
from dsim.frontend.values.values import LocalFunc, Opaque, Partial, RecordValue, Value

_VECTORS = "make a local vector or matrix: `ds.Vector([a, b])`, `ds.Matrix([[a, b], [c, d]])`"
_ZEROS = "make a local one, `ds.Vector.zero(ds.f32, n)` or `ds.Matrix.zero(ds.f32, n, m)`, or a field outside"
_LISTS = "kernels have no growing lists: make `ds.Vector([a, b])` of a fixed size, or a field outside"
_SUMS = "sum a field up in a loop: `for i in x: total[None] += x[i]`; of a local vector it is `v.sum()`"
_EXTREMA = "iterate over a field with `ds.atomic_max(found[None], x[i])`; of a local vector it is `v.max()`"
_NORMS = "of a local vector it is `v.norm()`; of a field, sum up the squares in a loop"
_FILES = "read and write files outside of kernels"

_BUILTINS: dict[Any, str] = {
    list: _LISTS,
    dict: 'write it out, `{"a": 1.0, "b": 2.0}`, or make a struct of `ds.types.struct(a=ds.f32)`',
    set: "kernels have no sets: use fields",
    sorted: "sort outside of kernels: `ds.algorithms.parallel_sort(keys)`",
    sum: _SUMS,
    map: "write a comprehension: `[f(v) for v in items]`",
    filter: "write a loop with an `if` in it: which items there are must be known before",
    input: _FILES,
    open: _FILES,
}
_ARRAYS: dict[str, str] = {
    **dict.fromkeys(("array", "asarray", "stack", "concatenate"), _VECTORS),
    **dict.fromkeys(("zeros", "ones", "empty", "full", "zeros_like", "eye", "identity"), _ZEROS),
    **dict.fromkeys(("arange", "linspace"), "compute each number from the loop's index: `first + i * step`"),
    **dict.fromkeys(("sum", "mean", "prod"), _SUMS),
    **dict.fromkeys(("amax", "amin", "argmax", "argmin"), _EXTREMA),
    "dot": "of local vectors it is `a.dot(b)`, of matrices `a @ b`",
    "matmul": "of local matrices it is `a @ b`",
    "cross": "of local vectors it is `a.cross(b)`",
    "transpose": "of a local matrix it is `m.transpose()`",
    "norm": _NORMS,
    "det": "of a local matrix it is `m.determinant()`",
    "inv": "of a local matrix it is `m.inverse()`",
    "solve": "of a local matrix it is `ds.solve(m, v)`",
    "absolute": "it is `abs(x)`",
    "arcsin": "it is `ds.asin`",
    "arccos": "it is `ds.acos`",
    "arctan": "it is `ds.atan(x)`",
    "arctan2": "it is `ds.atan2`",
}
_RANDOM: dict[str, str] = {
    **dict.fromkeys(("random", "rand", "random_sample"), "it is `ds.random()`"),
    **dict.fromkeys(("randn", "standard_normal"), "it is `ds.randn()`"),
    **dict.fromkeys(("gauss", "normal", "normalvariate"), "it is `mean + deviation * ds.randn()`"),
    "uniform": "it is `low + (high - low) * ds.random()`",
    **dict.fromkeys(("randint", "randrange", "integers"), "it is `low + int((high - low) * ds.random())`"),
}
_GENERATORS = "kernels have random numbers of their own: `ds.random()`, `ds.randn()`"
_GROW = ("append", "extend", "insert", "pop", "remove", "clear")
_MISSING = {"sum": _SUMS, "norm": _NORMS, "zeros": _ZEROS, "array": _VECTORS, "dot": _ARRAYS["dot"]}


def instead_of(function: Any) -> str:
    """What to write for a call of `function`; empty when there is no advice.

    Examples
    --------
    >>> import numpy as np
    >>> instead_of(np.matmul)
    'of local matrices it is `a @ b`'
    """
    try:
        if function in _BUILTINS:
            return _BUILTINS[function]
    except TypeError:  # it cannot be hashed
        return ""
    name = getattr(function, "__name__", "")
    if function in (builtins.max, builtins.min):
        return _EXTREMA
    if _of_generator(function):
        return _RANDOM.get(name, _GENERATORS)
    if _of_numpy(function):
        return _ARRAYS.get(name, f"it is `ds.{name}`" if name in elementary.FUNCTIONS else "")
    return ""


def different(a: Value, b: Value) -> str:
    """What to write where one of two values would be taken at run time; empty when there is no advice."""
    if isinstance(a, RecordValue) and isinstance(b, RecordValue):
        return "make it one class with a number that tells the variants apart: `match p: case P(kind=0):`"
    if all(isinstance(v, LocalFunc | Partial) or _is_function(v) for v in (a, b)):
        return "choose between what they return: `f(x) if c else g(x)`; which one runs must be known before"
    return ""


def _is_function(value: Value) -> bool:
    return isinstance(value, Opaque) and callable(value.value)


def method(name: str) -> str:
    """What to write for a method that lists have, and vectors do not; empty when there is no advice."""
    return _LISTS if name in _GROW else ""


def missing(module: Any, name: str) -> str:
    """What to write for ``module.name``, which a module does not have; empty when there is no advice."""
    return _MISSING.get(name, "") if isinstance(module, ModuleType) else ""


def array_outside(name: str, array: np.ndarray) -> str:
    """The help for a captured NumPy array that a kernel indexes at run time."""
    return (
        f"pass it to the kernel, `{name}: ds.types.ndarray()`, or copy it to a field once: "
        f"`f = ds.field(ds.{_scalar(array)}, shape={array.shape}); f.from_numpy({name})`"
    )


def _scalar(array: np.ndarray) -> str:
    kinds = {"f": "f", "i": "i", "u": "u"}
    kind = kinds.get(array.dtype.kind)
    return "f64" if kind is None else f"{kind}{8 * array.dtype.itemsize}"


def _of_generator(function: Any) -> bool:
    """Whether `function` is one of `random`, or of NumPy's random numbers: a method of a hidden generator."""
    module = type(getattr(function, "__self__", None)).__module__
    return module == "random" or module.startswith("numpy.random")


def _of_numpy(function: Any) -> bool:
    module = getattr(function, "__module__", None) or ""
    return isinstance(function, np.ufunc) or module.partition(".")[0] == "numpy"
