"""Operators on vectors and matrices outside kernels that go entry by entry."""

from __future__ import annotations

from typing import Any

import numpy as np

from dsim.diagnostics.frames import outermost


class Entrywise:
    """What has its entries in the NumPy array `_a`; the other side has the same shape, or is a number."""

    __slots__ = ()
    __hash__ = None  # type: ignore[assignment]
    _a: np.ndarray

    @classmethod
    def _of(cls, array: np.ndarray) -> Any:
        raise NotImplementedError

    def _with(self, other: Any, operation: Any, swapped: bool = False) -> Any:
        b = other._a if isinstance(other, Entrywise) else np.asarray(other)
        if b.ndim and b.shape != self._a.shape:
            raise TypeError(f"shapes {self._a.shape} and {b.shape} do not match")
        return self._of(operation(b, self._a) if swapped else operation(self._a, b))

    @outermost
    def __add__(self, o: Any) -> Any:
        return self._with(o, np.add)

    @outermost
    def __radd__(self, o: Any) -> Any:
        return self._with(o, np.add, True)

    @outermost
    def __sub__(self, o: Any) -> Any:
        return self._with(o, np.subtract)

    @outermost
    def __rsub__(self, o: Any) -> Any:
        return self._with(o, np.subtract, True)

    @outermost
    def __mul__(self, o: Any) -> Any:
        return self._with(o, np.multiply)

    @outermost
    def __rmul__(self, o: Any) -> Any:
        return self._with(o, np.multiply, True)

    @outermost
    def __truediv__(self, o: Any) -> Any:
        return self._with(o, np.true_divide)

    @outermost
    def __rtruediv__(self, o: Any) -> Any:
        return self._with(o, np.true_divide, True)

    @outermost
    def __floordiv__(self, o: Any) -> Any:
        return self._with(o, np.floor_divide)

    @outermost
    def __rfloordiv__(self, o: Any) -> Any:
        return self._with(o, np.floor_divide, True)

    @outermost
    def __mod__(self, o: Any) -> Any:
        return self._with(o, np.mod)

    @outermost
    def __rmod__(self, o: Any) -> Any:
        return self._with(o, np.mod, True)

    @outermost
    def __pow__(self, o: Any) -> Any:
        return self._with(o, np.power)

    @outermost
    def __rpow__(self, o: Any) -> Any:
        return self._with(o, np.power, True)

    @outermost
    def __and__(self, o: Any) -> Any:
        return self._with(o, np.bitwise_and)

    @outermost
    def __rand__(self, o: Any) -> Any:
        return self._with(o, np.bitwise_and, True)

    @outermost
    def __or__(self, o: Any) -> Any:
        return self._with(o, np.bitwise_or)

    @outermost
    def __ror__(self, o: Any) -> Any:
        return self._with(o, np.bitwise_or, True)

    @outermost
    def __xor__(self, o: Any) -> Any:
        return self._with(o, np.bitwise_xor)

    @outermost
    def __rxor__(self, o: Any) -> Any:
        return self._with(o, np.bitwise_xor, True)

    @outermost
    def __lshift__(self, o: Any) -> Any:
        return self._with(o, np.left_shift)

    @outermost
    def __rlshift__(self, o: Any) -> Any:
        return self._with(o, np.left_shift, True)

    @outermost
    def __rshift__(self, o: Any) -> Any:
        return self._with(o, np.right_shift)

    @outermost
    def __rrshift__(self, o: Any) -> Any:
        return self._with(o, np.right_shift, True)

    def __invert__(self) -> Any:
        return self._of(np.invert(self._a))

    def __neg__(self) -> Any:
        return self._of(-self._a)

    def __pos__(self) -> Any:
        return self._of(self._a.copy())

    def __abs__(self) -> Any:
        return self._of(np.abs(self._a))

    @outermost
    def __eq__(self, o: object) -> Any:
        return self._with(o, np.equal)

    @outermost
    def __ne__(self, o: object) -> Any:
        return self._with(o, np.not_equal)

    @outermost
    def __lt__(self, o: Any) -> Any:
        return self._with(o, np.less)

    @outermost
    def __le__(self, o: Any) -> Any:
        return self._with(o, np.less_equal)

    @outermost
    def __gt__(self, o: Any) -> Any:
        return self._with(o, np.greater)

    @outermost
    def __ge__(self, o: Any) -> Any:
        return self._with(o, np.greater_equal)
