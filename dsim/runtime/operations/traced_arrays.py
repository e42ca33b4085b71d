"""Traced arrays: what rules work with when their result is itself differentiated.

A traced array has a shape and a type, and no numbers: each operation on it is noted, and launched later as
an operation of its own, which contexts differentiate by its own rules. `arithmetic.py`, `elementary.py` and
`elements.py` say what the operators do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NoReturn, Protocol

import numpy as np

from dsim.diagnostics import Diagnostic, GradientError, Span

# What operators, ufuncs and functions of NumPy do to traced arrays, by name or function: operations.
OPERATORS: dict[Any, Callable[..., Any]] = {}


class Tracing(Protocol):
    """Notes the operations of one rule.

    Attributes
    ----------
    rule : str
        The rule, in words.
    span : Span or None
        Where it is defined.
    """

    rule: str
    span: Span | None

    def apply(self, host: Any, inputs: tuple[Any, ...], attributes: dict[str, Any]) -> Any:
        """Notes an operation; gives its results."""
        ...


class TracedArray:
    """An array in a rule whose result is differentiated: it has a shape, and no numbers yet.

    Parameters
    ----------
    field : Field
        Where the numbers will be.
    trace : Tracing
        What it belongs to.
    """

    __array_priority__ = 1000

    def __init__(self, field: Any, trace: Tracing) -> None:
        self.field = field
        self.trace = trace

    def __repr__(self) -> str:
        return f"<traced array of shape {self.shape}, {self.dtype}>"

    @property
    def shape(self) -> tuple[int, ...]:
        """The lengths of its axes."""
        return self.field.full_shape

    @property
    def ndim(self) -> int:
        """How many axes it has."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """How many numbers it has."""
        return int(np.prod(self.shape))

    @property
    def dtype(self) -> np.dtype:
        """The type of its numbers."""
        return self.field.dtype.numpy

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("a traced array without axes has no length")
        return self.shape[0]

    def __iter__(self) -> Iterator[Any]:
        return (self[n] for n in range(len(self)))

    # -- operators

    def __add__(self, other: Any) -> Any:
        return OPERATORS[np.add](self, other)

    def __radd__(self, other: Any) -> Any:
        return OPERATORS[np.add](other, self)

    def __sub__(self, other: Any) -> Any:
        return OPERATORS[np.subtract](self, other)

    def __rsub__(self, other: Any) -> Any:
        return OPERATORS[np.subtract](other, self)

    def __mul__(self, other: Any) -> Any:
        return OPERATORS[np.multiply](self, other)

    def __rmul__(self, other: Any) -> Any:
        return OPERATORS[np.multiply](other, self)

    def __truediv__(self, other: Any) -> Any:
        return OPERATORS[np.divide](self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return OPERATORS[np.divide](other, self)

    def __matmul__(self, other: Any) -> Any:
        return OPERATORS[np.matmul](self, other)

    def __rmatmul__(self, other: Any) -> Any:
        return OPERATORS[np.matmul](other, self)

    def __pow__(self, exponent: Any) -> Any:
        return OPERATORS[np.power](self, exponent)

    def __neg__(self) -> Any:
        return OPERATORS[np.negative](self)

    def __pos__(self) -> Any:
        return self

    def __getitem__(self, key: Any) -> Any:
        return OPERATORS["getitem"](self, key)

    def __setitem__(self, key: Any, value: Any) -> NoReturn:
        self._refuse("an assignment to elements")

    @property
    def T(self) -> Any:
        """Its axes in reverse order."""
        return OPERATORS[np.transpose](self)

    @property
    def mT(self) -> Any:
        """The last two axes exchanged."""
        return OPERATORS[np.swapaxes](self, -1, -2)

    def transpose(self, *axes: Any) -> Any:
        """Its axes in another order."""
        return OPERATORS[np.transpose](self, *((_of_one(axes),) if axes else ()))

    def swapaxes(self, a: int, b: int) -> Any:
        """Two axes exchanged."""
        return OPERATORS[np.swapaxes](self, a, b)

    def reshape(self, *shape: Any) -> Any:
        """The same numbers, in the same order, in another shape."""
        return OPERATORS[np.reshape](self, _of_one(shape))

    def ravel(self) -> Any:
        """Its numbers along one axis."""
        return self.reshape(-1)

    def sum(self, axis: Any = None, keepdims: bool = False) -> Any:
        """The sum over some axes."""
        return OPERATORS[np.sum](self, axis=axis, keepdims=keepdims)

    # -- NumPy's functions

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **named: Any) -> Any:
        known = OPERATORS.get(ufunc)
        if known is None or method != "__call__" or named:
            self._refuse(f"`np.{ufunc.__name__}`")
        return known(*inputs)

    def __array_function__(self, function: Any, types: Any, args: Any, named: Any) -> Any:
        known = OPERATORS.get(function)
        if known is None:
            self._refuse(f"`{function.__module__}.{function.__name__}`")
        return known(*args, **named)

    # -- what would need the numbers

    def _refuse(self, what: str) -> NoReturn:
        message = f"the second derivative needs {self.trace.rule} in registered operations: it uses {what}"
        advice = "write it with `+ - * / @`, `.T`, `.sum()`, `ds.operations`, and operations of your own"
        raise GradientError(
            Diagnostic("not-differentiable", message, self.trace.span, "this rule", help=advice)
        )

    def __array__(self, dtype: Any = None, copy: Any = None) -> NoReturn:
        self._refuse("the numbers of an array")

    def __bool__(self) -> NoReturn:  # noqa: PLE0304 (it raises)
        self._refuse("a truth value")

    def __float__(self) -> NoReturn:
        self._refuse("a number")

    def __int__(self) -> NoReturn:
        self._refuse("a number")

    def __eq__(self, other: object) -> Any:
        self._refuse("a comparison")

    __index__ = __int__
    __ne__ = __lt__ = __le__ = __gt__ = __ge__ = __eq__
    __hash__ = None  # type: ignore[assignment]


def _of_one(args: tuple[Any, ...]) -> Any:
    """The argument that is a tuple, or all of them as one."""
    return args[0] if len(args) == 1 and not isinstance(args[0], int | np.integer) else args
