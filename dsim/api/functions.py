"""Functions with the same meaning in kernels and outside; in kernels the frontend resolves them by name.

Outside they take numbers, NumPy arrays and host vectors. The primitives of the table are in
`elementary.py`. Functions for kernels only (atomic operations,
`loop_config`) are here too, and raise when called outside.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from dsim.diagnostics.frames import outermost
from dsim.ir import arithmetic
from dsim.ir.primitive import host
from dsim.ir.primitives import TABLE
from dsim.ir.types import ScalarType
from dsim.runtime.fields.host_values.values import Array
from dsim.runtime.state import settings
from dsim.runtime.tapes import custom

Function = Callable[..., Any]
_GENERATOR = np.random.default_rng()  # generates random numbers outside kernels


def builtin(name: str) -> Callable[[Function], Function]:
    """Marks a function as the builtin `name` for the frontend."""

    def mark(function: Function) -> Function:
        function.__dsim_builtin__ = name  # type: ignore[attr-defined]
        function.__name__ = function.__qualname__ = name
        return function

    return mark


def _host(value: Any) -> Any:
    """The result of a NumPy function as a user's value: a number, an array, a host vector."""
    return value.item() if isinstance(value, np.generic) else value


def _plain(value: Any) -> Any:
    return np.asarray(value) if isinstance(value, Array | list | tuple) else value


def _entrywise(name: str, function: Function, doc: str) -> Function:
    """`function` of NumPy on numbers, arrays and host vectors, as the builtin `name`."""

    def apply(*args: Any) -> Any:
        with np.errstate(all="ignore"):
            result = function(*map(_plain, args))
        if any(isinstance(a, Array) for a in args) and np.ndim(result):
            return Array(result)
        return _host(result)

    apply.__doc__ = doc
    return builtin(name)(apply)


def of_table(name: str, function: Function | None = None) -> Function:
    """The function for primitive `name`; outside kernels it is `function`, or the row's implementation."""
    row = TABLE[name]
    assert row.spelling is not None
    return _entrywise(name, function or host(row.python, len(row.parameters)), row.spelling.doc)


def _step(edge: Any, x: Any) -> Any:
    return np.where(np.asarray(x) < edge, 0.0, 1.0)[()]


def _smoothstep(low: Any, high: Any, x: Any) -> Any:
    t = np.clip((x - low) / (high - low), 0.0, 1.0)
    return t * t * (3.0 - 2.0 * t)


mod = of_table("mod", np.mod)
fmod = _entrywise("fmod", np.fmod, "What is left of `x` divided by `y`, with the sign of `x`.")
sign = _entrywise("sign", np.sign, "-1, 0 or 1 as `x` is negative, zero or positive.")
isnan = of_table("isnan")
isinf = _entrywise("isinf", np.isinf, "Whether `x` is infinite.")
fract = _entrywise("fract", lambda x: x - np.floor(x), "What is left of `x` above the whole number below it.")
radians = _entrywise("radians", np.radians, "Degrees as radians.")
degrees = _entrywise("degrees", np.degrees, "Radians as degrees.")
log2 = _entrywise("log2", np.log2, "The logarithm of `x` to base 2.")
log10 = _entrywise("log10", np.log10, "The logarithm of `x` to base 10.")
exp2 = _entrywise("exp2", np.exp2, "2 to the power `x`.")
inversesqrt = _entrywise("inversesqrt", lambda x: 1.0 / np.sqrt(x), "One over the square root of `x`.")
digamma = _entrywise(
    "digamma",
    functools.partial(arithmetic.polygamma, 0),
    "The derivative of the logarithm of the gamma function.",
)
clamp = _entrywise("clamp", np.clip, "`x` held between `low` and `high`.")
mix = _entrywise("mix", lambda x, y, a: x * (1.0 - a) + y * a, "From `x` to `y` as `a` goes from 0 to 1.")
zero = _entrywise("zero", np.zeros_like, "A value like `x`, with 0 for every number.")
one = _entrywise("one", np.ones_like, "A value like `x`, with 1 for every number.")
step = _entrywise("step", _step, "0 where `x` is below `edge`, else 1.")
smoothstep = _entrywise("smoothstep", _smoothstep, "From 0 to 1, smoothly, as `x` goes from `low` to `high`.")


@builtin("frexp")
def frexp(x: Any) -> tuple[Any, Any]:
    """Mantissa and exponent: ``x = m * 2**e`` with ``0.5 <= abs(m) < 1``."""
    parts = np.frexp(_plain(x))
    return tuple(Array(p) if np.ndim(p) else _host(p) for p in parts)  # type: ignore[return-value]


@builtin("dot")
def dot(a: Any, b: Any) -> Any:
    """The scalar product of two vectors."""
    return Array(a).dot(Array(b))


@builtin("cross")
def cross(a: Any, b: Any) -> Any:
    """The cross product: a number for 2D vectors, a vector for 3D vectors."""
    return Array(a).cross(Array(b))


@builtin("length")
def length(a: Any) -> float:
    """The Euclidean length of a vector; its derivative at 0 is 0."""
    return Array(a).norm()


@builtin("distance")
def distance(a: Any, b: Any) -> float:
    """The Euclidean distance between two points."""
    return (Array(a) - Array(b)).norm()


@builtin("normalize")
def normalize(a: Any) -> Any:
    """A vector divided by its length; zeros stay zeros."""
    return Array(a).normalized()


@builtin("reflect")
def reflect(x: Any, n: Any) -> Any:
    """The direction `x` reflected at a surface of normal `n` (of length 1)."""
    x, n = Array(x), Array(n)
    return x - 2.0 * x.dot(n) * n


@builtin("determinant")
def determinant(m: Any) -> float:
    """The determinant of a square matrix."""
    return Array(m).determinant()


@builtin("inverse")
def inverse(m: Any) -> Any:
    """The inverse of a square matrix."""
    return Array(m).inverse()


@builtin("eye")
def eye(n: int) -> Any:
    """The `n` × `n` identity matrix."""
    return Array(np.eye(n))


@builtin("cast")
def cast(value: Any, dtype: Any) -> Any:
    """`value` converted to another type: floats are truncated towards 0, integers wrap around."""
    to = settings.default_type(dtype)
    if to is None:
        raise TypeError(f"cast() needs a type such as f32, got {dtype!r}")
    if isinstance(value, Array):
        return Array(np.array([_cast(v, to) for v in value.to_numpy().ravel()]).reshape(value.shape))
    return _cast(value, to)


def _cast(value: Any, to: ScalarType) -> Any:
    exact = isinstance(value, int) and not isinstance(value, bool)
    source = (
        np.array(value & (1 << 64) - 1, np.uint64) if exact and to.is_integer else np.array(value, np.float64)
    )
    return arithmetic.cast(source[()], to.name).item()


@builtin("bit_cast")
def bit_cast(value: Any, dtype: Any) -> Any:
    """The bits of `value` (outside kernels, a 32-bit number) reinterpreted as another type of that width."""
    to = settings.default_type(dtype)
    if to is None:
        raise TypeError(f"bit_cast() needs a type such as f32, got {dtype!r}")
    kind = "float" if isinstance(value, float) else "int"
    return np.array(value, f"{kind}{to.bits}").view(to.numpy).item()


@builtin("random")
def random(dtype: Any = float) -> Any:
    """A random number: a float in [0, 1), an integer of any value of its type."""
    to = settings.default_type(dtype)
    if to is None:
        raise TypeError(f"random() needs a type such as f32, got {dtype!r}")
    if to.is_float:
        return _GENERATOR.random()
    limits = np.iinfo(to.numpy)
    return int(_GENERATOR.integers(limits.min, limits.max, endpoint=True, dtype=to.numpy))


@builtin("randn")
def randn(dtype: Any = float) -> float:
    """A random number of the standard normal distribution."""
    return float(_GENERATOR.standard_normal())


@builtin("static")
def static(*values: Any) -> Any:
    """Inside kernels, evaluates at compile time and unrolls loops; outside, gives its argument back."""
    return values[0] if len(values) == 1 else values


@builtin("ndrange")
class ndrange:
    """All index tuples of a grid: ``ndrange(n, m)``, ``ndrange((1, n - 1), m)``."""

    __dsim_builtin__ = "ndrange"

    def __init__(self, *bounds: Any) -> None:
        pairs = [b if isinstance(b, tuple | list) else (0, b) for b in bounds]
        self.bounds = [(int(low), int(high)) for low, high in pairs]

    def __iter__(self) -> Iterator[tuple[int, ...]]:
        return itertools.product(*(range(low, high) for low, high in self.bounds))


@builtin("grouped")
def grouped(grid: Any) -> Iterator[Any]:
    """The indices of a grid or field as one vector each."""
    if hasattr(grid, "shape"):
        grid = ndrange(*grid.shape)
    return (Array(at) for at in grid)


@builtin("stop_grad")
@outermost
def stop_grad(value: Any) -> Any:
    """The same value, treated as a constant by derivatives; of a field the values that it has now."""
    return custom.stop_grad(value)


def _kernel_only(name: str, doc: str) -> Function:
    def refuse(*args: Any, **named: Any) -> Any:
        raise RuntimeError(f"{name}() works inside kernels only")

    refuse.__doc__ = doc
    return builtin(name)(refuse)


atomic_add = _kernel_only("atomic_add", "``x[i] += v`` in one step; gives the value before.")
atomic_sub = _kernel_only("atomic_sub", "``x[i] -= v`` in one step; gives the value before.")
atomic_mul = _kernel_only("atomic_mul", "``x[i] *= v`` in one step; gives the value before.")
atomic_min = _kernel_only(
    "atomic_min", "The lesser of ``x[i]`` and `v` into ``x[i]``; gives the value before."
)
atomic_max = _kernel_only(
    "atomic_max", "The greater of ``x[i]`` and `v` into ``x[i]``; gives the value before."
)
atomic_and = _kernel_only("atomic_and", "``x[i] &= v`` in one step; gives the value before.")
atomic_or = _kernel_only("atomic_or", "``x[i] |= v`` in one step; gives the value before.")
atomic_xor = _kernel_only("atomic_xor", "``x[i] ^= v`` in one step; gives the value before.")
loop_config = _kernel_only(
    "loop_config", "Advice about the loop that follows: ``parallel=True``, ``serialize=True``."
)

pi, e, inf, nan = math.pi, math.e, math.inf, math.nan
